"""Part `rates`: decisions per second of every game, rules alone and with observations and masks, against the memory's speed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from ludory.envs.engine.protocol import Engine
from ludory.envs.facts import GameFacts
from ludory.envs.make import make_engine

from .parity import kernel_ids, same_games
from .part import CampaignPart, NamedWork, Row
from .peers import peer_rate

SIZES = {False: (4096, 65536, 1 << 20), True: (64,)}
"""Games side by side."""
SECONDS = {False: 0.4, True: 0.02}
"""Of a measurement."""
ROUNDS = {False: 3, True: 1}
COPIED = {False: 1 << 30, True: 1 << 22}
"""Bytes copied to find the memory's speed."""


def rates(part: CampaignPart) -> Iterator[NamedWork]:
    """The memory's speed, a row for every id and size, then peers."""
    yield NamedWork("memory", partial(memory_speed, part))
    for id in kernel_ids(part.small):
        for size in SIZES[part.small]:
            yield NamedWork(f"{id}, {size:,} games", partial(_rate, part, id, size))
    for package, name in (("jaxmarl", "hanabi"), ("pgx", "connect_four")):
        for size in SIZES[part.small]:
            yield NamedWork(
                f"{package} {name}, {size:,} games",
                partial(
                    peer_rate, package, "with_observations", SECONDS[part.small], "jax_games", package, name, str(size)
                ),
            )


def memory_speed(part: CampaignPart) -> Row:
    """Bytes read and written per second by a copy."""
    source = torch.zeros(COPIED[part.small], dtype=torch.uint8, device=part.device)
    target, watch = torch.empty_like(source), Stopwatch(part.device)
    for turn in range(4):
        with watch:
            target.copy_(source)
        if not turn:
            watch.clear()
    return {"bytes_per_second": 2 * 3 * source.numel() / watch.seconds()}


def _rate(part: CampaignPart, id: str, size: int) -> Row:
    """Compares some games with the CPU, then measures; the drawing of random moves is not counted."""
    moves, different = 0, ["not compared: there is one device"]
    if part.device != "cpu":
        on_cpu, on_gpu = (make_engine(id, 256, device=device, seed=5) for device in ("cpu", part.device))
        moves, different = same_games(on_cpu, on_gpu, 60)
    try:
        engine = make_engine(id, size, device=part.device, seed=1)
        rules = median(_rounds(part, engine, False))
        seen = median(_rounds(part, engine, True))
    except torch.OutOfMemoryError:
        return {"error": "not enough memory"}
    state = sum(torch.as_tensor(values).nbytes for values in engine.fields().values())
    shown = sum(torch.as_tensor(array).nbytes for array in (engine.legal(), _observed(engine)))
    each = (2 * state + shown) / size
    row = {"rules": rules, "with_observations": seen, "bytes": round(each), "bytes_per_second": seen * each}
    return row | {"compared_moves": moves, "differences": different if moves else []}


def _observed(engine: Engine) -> Any:
    return engine.observe(packed=engine.facts.observation.bits)


def _rounds(part: CampaignPart, engine: Engine, observe: bool) -> list[float]:
    """Decisions per second of each round."""
    engine.reset()
    found = []
    for turn in range(ROUNDS[part.small] + 1):
        rate = _play(engine, part, observe)
        if turn:  # the first round compiles and warms up
            found.append(rate)
    return found


def _play(engine: Engine, part: CampaignPart, observe: bool) -> float:
    watch, decisions, began = Stopwatch(part.device), 0, perf_counter()
    packed, turn, masks = engine.facts.observation.bits, None, engine.legal()
    while perf_counter() - began < SECONDS[part.small] or not decisions:
        actions = random_actions(torch.as_tensor(masks), engine.facts)
        with watch:
            if observe:
                turn = engine.play(actions, packed=packed, out=turn)
            else:
                engine.step(actions)
            over = torch.as_tensor(engine.terminated) | torch.as_tensor(engine.truncated)
            engine.reset(rows=over if over.is_cuda else over.numpy())
        masks = engine.legal()
        decisions += engine.num_games
    return decisions / watch.seconds()


def random_actions(masks: Tensor, facts: GameFacts) -> Any:
    """A legal value of every head, drawn where the masks are, in the form that `Engine.step` takes."""
    scores = torch.rand(masks.shape, device=masks.device).mul_(masks)
    chosen = torch.stack([head.argmax(-1) for head in scores.split(list(facts.head_sizes), -1)], -1)
    chosen = chosen if len(facts.head_sizes) > 1 else chosen[..., 0]
    return chosen if masks.is_cuda else chosen.numpy()


class Stopwatch:
    """Sums up the time of blocks of work: on a GPU between events on its stream, so that nothing waits; else on the clock."""

    def __init__(self, device: str) -> None:
        self._gpu, self._spent = device != "cpu", 0.0
        self._events: list[tuple[Any, Any]] = []
        self._began: Any = None

    def _now(self) -> Any:
        if not self._gpu:
            return perf_counter()
        event: Any = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def __enter__(self) -> Stopwatch:
        self._began = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        ended = self._now()
        if self._gpu:
            self._events.append((self._began, ended))
        else:
            self._spent += ended - self._began

    def clear(self) -> None:
        """Start again from 0."""
        self._events, self._spent = [], 0.0

    def seconds(self) -> float:
        """The sum so far; on a GPU, waits for the work."""
        if self._gpu:
            torch.cuda.synchronize()
            self._spent += sum(began.elapsed_time(ended) for began, ended in self._events) / 1000
            self._events = []
        return self._spent
