"""Measure what a second core gives: engines and training with one thread and with all, in turns, beside two processes of one thread.

The two processes play at the same time and show what the machine has to give; no program with threads can be faster. Rates are per second
of wall time, medians of several rounds, so nothing else may run.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ludory.algorithms.make import make_algorithm
from ludory.algorithms.ppo.ppo import WORTH_LOADING
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.engine.parallel import thread_count
from ludory.envs.engine.protocol import NextTurn
from ludory.envs.make import make_engine
from ludory.errors import OptionError

NETWORKS = ("mlp(hidden=(256,256))", "gru(memory_size=128)")
BARS = {
    **dict.fromkeys(("256 games", "1,024 games", "4,096 games"), 0.97),
    "8,192 games": 1.5,
    "32,768 games": 1.8,
    **dict.fromkeys(NETWORKS, 1.7),
}
"""Ratios of two cores to one that we claim where two processes reach 1.9."""


@dataclass(frozen=True, slots=True)
class CoresOptions:
    """Options of `ludory bench cores`."""

    game: str = "Hanabi2P-v0"
    """Id of a game in which seats take turns."""
    sizes: tuple[Count, ...] = (256, 1024, 4096, 8192, 32768, 131072)
    """Games side by side."""
    networks: tuple[str, ...] = NETWORKS
    """Networks that PPO trains."""
    seconds: Seconds = 1.0
    """Of a measurement; training measures whole iterations."""
    repeats: Count = 3
    """Rounds; the median counts."""
    threads: Count = 2
    """Threads that are compared with one."""
    out: Path = Path("runs/cores")
    """Folder of the result."""


@benchmark("cores")
def run(options: CoresOptions) -> Result:
    """Measure engines, then training, then the two processes."""
    counts = (1, options.threads)
    engines = {f"{size:,} games": _in_turns(_playing(options.game, size, counts), options) for size in options.sizes}
    training = {
        network: _in_turns({n: _training(options.game, network, n) for n in counts}, options)
        for network in options.networks
    }
    largest = max(options.sizes)
    report = {
        "game": options.game,
        "threads": options.threads,
        "engine": engines,
        "training": training,
        "processes": _processes(options, largest),
        "bars": BARS,
    }
    return Result(options.out / "cores.json", report, _shown)


def _in_turns(measures: Mapping[int, Callable[[float], float]], options: CoresOptions) -> dict[str, Any]:
    """Rates by number of threads, and their ratio."""
    rounds: dict[int, list[float]] = {count: [] for count in measures}
    for turn in range(options.repeats + 1):
        for count, measure in measures.items():
            rate = measure(options.seconds)
            if turn:  # the first turn compiles and warms up
                rounds[count].append(rate)
    one, many = (median(rounds[count]) for count in (min(measures), max(measures)))
    return {"rounds": {str(count): found for count, found in rounds.items()}, "ratio": many / one}


def _playing(game: str, size: int, counts: Sequence[int]) -> dict[int, Callable[[float], float]]:
    """For each number of threads, decisions per second of `Engine.play`; the random moves are drawn in between and not counted.

    All of them play the same games in the same memory: where an engine's arrays happen to lie alone makes a difference of 6 %.
    """
    engine = make_engine(game, size, seed=1)
    if not isinstance(engine, KernelEngine):
        raise OptionError(f"{game}: its rules are no kernels, so threads cannot share its games; name another one")
    engine.reset()
    generator = np.random.default_rng(1)
    packed = engine.facts.observation.bits
    turn: NextTurn | None = None

    def measure(threads: int, seconds: float) -> float:
        nonlocal turn
        engine.threads = threads
        spent, decisions, masks = 0.0, 0, engine.legal()
        while spent < seconds:
            actions = (generator.random(masks.shape, dtype=np.float32) * masks).argmax(-1)
            began = perf_counter()
            turn = engine.play(actions, packed=packed, out=turn)
            spent += perf_counter() - began
            decisions += size
            masks = turn.masks
            if len(done := np.flatnonzero(engine.terminated | engine.truncated)):
                engine.reset(done)
                masks = engine.legal()
        return decisions / spent

    return {count: partial(measure, count) for count in counts}


def _training(game: str, network: str, threads: int) -> Callable[[float], float]:
    """Decisions per second of PPO from sampling to the last gradient step."""
    with _threads(threads):
        model = make_algorithm("ppo", env=game, policy=network, seed=1)
    model.num_timesteps = WORTH_LOADING  # the code of long runs

    def measure(seconds: float) -> float:
        with _threads(threads):
            began, before = perf_counter(), model.num_timesteps
            while perf_counter() - began < seconds:
                model.learn(1, reset_num_timesteps=False)
            return (model.num_timesteps - before) / (perf_counter() - began)

    return measure


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = os.environ.get("LUDORY_NUM_THREADS")
    os.environ["LUDORY_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LUDORY_NUM_THREADS"]
        else:
            os.environ["LUDORY_NUM_THREADS"] = before


def _processes(options: CoresOptions, size: int) -> float:
    """Rate of as many processes with one thread each as there are threads, together, over that of one alone."""
    context = multiprocessing.get_context("spawn")
    rates = []
    for count in (1, options.threads):
        start, found = context.Barrier(count), context.Queue()
        jobs = [context.Process(target=_alone, args=(options, size, start, found)) for _ in range(count)]
        for job in jobs:
            job.start()
        rates.append(sum(found.get() for _ in jobs))
        for job in jobs:
            job.join()
    return float(rates[1] / rates[0])


def _alone(options: CoresOptions, size: int, start: Any, found: Any) -> None:
    measure = _playing(options.game, size, [1])[1]
    measure(options.seconds / 4)
    start.wait()
    found.put(measure(2 * options.seconds))


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    rows = []
    for part in ("engine", "training"):
        for name, found in report[part].items():
            one, many = (f"{median(rounds):,.0f}" for rounds in found["rounds"].values())
            bar = report["bars"].get(name)
            rows.append([part, name, one, many, f"{found['ratio']:.2f}", f"{bar}" if bar else ""])
    title = f"{report['game']}, decisions per second, 1 thread and {report['threads']} of {thread_count()}"
    yield table(title, ["part", "what", "1 thread", f"{report['threads']} threads", "ratio", "bar"], rows)
    yield f"{report['threads']} processes of one thread each, together: {report['processes']:.2f} times one"
