"""Environment steps per second in worker processes, next to Stable-Baselines3's SubprocVecEnv, which has one environment a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import SubprocVecEnv

from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count
from ludory.envs.make import make_engine

WARM_UP = 50
"""Steps before the clock starts."""


@dataclass(frozen=True, slots=True)
class OwnEnvsOptions:
    """Options of `ludory bench own-envs`."""

    env: str = "CartPole-v1"
    """Id of Gymnasium."""
    workers: Count = 2
    """Processes."""
    envs: Count = 16
    """Environments of Ludory."""
    steps: Count = 2000
    """Of all environments, each time."""
    repeats: Count = 3
    """Measurements of each, in turns."""
    out: Path | None = None
    """JSON file of the result."""


@benchmark("own-envs")
def run(options: OwnEnvsOptions) -> Result:
    """Measure both in turns with the same environments and workers."""
    env, workers, steps = options.env, options.workers, options.steps
    ours, theirs = [], []
    for _ in range(options.repeats):
        theirs.append(_rate(_subproc(env, workers), workers, steps))
        ours.append(_rate(_pool(env, options.envs, workers), options.envs, steps))
    same = [_rate(_pool(env, workers, workers), workers, steps) for _ in ours]
    found = asdict(options) | {"out": options.out and str(options.out)}
    return Result(options.out, found | {"subproc": theirs, "pool": ours, "pool_one_each": same}, _shown)


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    """Steps per second and their ratios."""
    workers, envs = report["workers"], report["envs"]
    theirs, same, ours = (float(np.median(report[name])) for name in ("subproc", "pool_one_each", "pool"))
    yield f"{report['env']}, {workers} workers, {report['steps']:,} steps, median of {report['repeats']}:"
    yield f"  SubprocVecEnv, {workers} environments  {theirs:10,.0f} steps/s"
    yield f"  Ludory, {workers} environments         {same:10,.0f} steps/s  {same / theirs:.2f} x"
    yield f"  Ludory, {envs} environments        {ours:10,.0f} steps/s  {ours / theirs:.2f} x"


def _rate(made: tuple[Callable[[Any], None], Callable[[], None]], envs: int, steps: int) -> float:
    """Environment steps per second under random actions of two values."""
    step, close = made
    actions = np.random.default_rng(0).integers(0, 2, (steps + WARM_UP, envs))
    for action in actions[:WARM_UP]:
        step(action)
    started = perf_counter()
    for action in actions[WARM_UP:]:
        step(action)
    seconds = perf_counter() - started
    close()
    return envs * steps / seconds


def _subproc(env: str, workers: int) -> tuple[Callable[[Any], None], Callable[[], None]]:
    vector = SubprocVecEnv([lambda: gymnasium.make(env)] * workers)
    vector.reset()
    return lambda actions: (vector.step(actions), None)[1], vector.close


def _pool(env: str, envs: int, workers: int) -> tuple[Callable[[Any], None], Callable[[], None]]:
    engine = make_engine(f"gymnasium:{env}", envs, seed=0, workers=workers)
    engine.reset()

    def step(actions: Any) -> None:
        engine.step(actions)
        over = engine.terminated | engine.truncated
        if over.any():
            engine.reset(over)
        engine.observe()

    return step, engine.close
