"""Part `turns`: games that go on and on with random moves, one launch a step, as single launches and as CUDA graphs, against the memory's speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
import torch

from ludory.envs.engine.autoreset import Autoreset
from ludory.envs.engine.captured import WARM_UP, Captured
from ludory.envs.engine.protocol import on_host
from ludory.envs.make import make_engine

from .part import CampaignPart, NamedWork, Row
from .rates import SECONDS as BURST
from .rates import Stopwatch, memory_speed

GAMES = {
    False: ("ConnectFour-v0", "Hanabi2P-v0", "TicTacToe-v0", "KuhnPoker-v0", "Texas42-v0", "Go9-v0", "Arena2P-v0"),
    True: ("TicTacToe-v0", "KuhnPoker-v0"),
}
SIZES = {False: (65536, 1 << 20, 4096), True: (64,)}
"""Games side by side, in the order in which they are measured."""
STEPS = {False: 32, True: 4}
"""Of a graph."""
COMPARED = 256
"""Games that are compared with the CPU's."""
ROUNDS = {False: 3, True: 1}
PARTS = ("actions", "rewards", "ends", "seats", "legal", "streams")


def turns(part: CampaignPart) -> Iterator[NamedWork]:
    """The memory's speed, then a row for every size and game, small ones last."""
    yield NamedWork("memory", partial(memory_speed, part))
    for size in SIZES[part.small]:
        for id in GAMES[part.small]:
            yield NamedWork(f"{id}, {size:,} games", partial(_rate, part, id, size))


def _rate(part: CampaignPart, id: str, size: int) -> Row:
    """Decisions per second, and the bytes that a step must move; at the first size single launches and a graph are compared with the CPU."""
    different = _differences(part, id) if size == SIZES[part.small][0] else []
    try:
        engine = make_engine(id, size, device=part.device, seed=1)
        engine.reset()
        games = Autoreset(engine, STEPS[part.small], seed=1)
        work = _work(games)
        rates = {"launches": _measured(part, games, Captured(work, torch.device("cpu")))}
        graph = Captured(work, games.actions.device, name=id)
        rates["graph"] = _measured(part, games, graph)
    except torch.OutOfMemoryError:
        return {"error": "not enough memory"}
    each = games.step_bytes / size
    return {
        **rates,
        "captured": graph.captures,
        "step_bytes": each,
        "bytes_per_second": rates["graph"] * each,
        "differences": different,
    }


def _work(games: Autoreset) -> Callable[[], None]:
    def play() -> None:
        games.again()
        for step in range(games.steps):
            games.step(step, draw=True)

    return play


def _measured(part: CampaignPart, games: Autoreset, work: Captured) -> float:
    """Decisions per second, the median of some rounds; a simultaneous turn of a game counts as one."""
    for _ in range(WARM_UP + 1):
        work()
    rates = []
    for _ in range(ROUNDS[part.small]):
        watch, calls, began = Stopwatch(part.device), 0, perf_counter()
        with watch:
            while perf_counter() - began < BURST[part.small] or not calls:
                work()
                calls += 1
        rates.append(calls * games.steps * games.engine.num_games / watch.seconds())
    return median(rates)


def _differences(part: CampaignPart, id: str) -> list[str]:
    """What differs between the CPU, single launches and a graph after as many runs as it takes to replay one."""
    played = {}
    for where, captured in (("cpu", False), (part.device, False), (part.device, True)):
        engine = make_engine(id, COMPARED, device=where, seed=5)
        engine.reset()
        games = Autoreset(engine, STEPS[part.small], seed=3)
        work = Captured(_work(games), games.actions.device if captured else torch.device("cpu"), name=id)
        for _ in range(WARM_UP + 2):
            work()
        games.check()
        kept = {name: on_host(getattr(games, name)) for name in PARTS} | {"seen": on_host(games.observations(-1))}
        state = {name: on_host(values) for name, values in engine.fields().items()}
        played["cpu" if where == "cpu" and not captured else "graph" if captured else "launches"] = kept | state
    first = played.pop("cpu")
    return [
        f"{way}: {name}"
        for way, found in played.items()
        for name, values in first.items()
        if not np.array_equal(found[name], values)
    ]
