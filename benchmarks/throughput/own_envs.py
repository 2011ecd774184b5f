"""`ludory bench own-envs`: a Gymnasium environment in worker processes, beside Stable-Baselines3's `SubprocVecEnv`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import SubprocVecEnv

from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.make import make_engine
from ludory.errors import OptionError

WARM_UP = 50
"""Steps before the clock starts."""


def run(argv: list[str]) -> int:
    """Measure both in turns with the same environments and workers, print steps per second and their ratio; returns the exit code.

    Raises:
        OptionError: a number below 1.
    """
    options = _parser().parse_args(argv)
    for name in ("workers", "envs", "steps", "repeats"):
        if getattr(options, name) < 1:
            raise OptionError(f"--{name} {getattr(options, name)}: must be at least 1")
    ours, theirs = [], []
    for _ in range(options.repeats):
        theirs.append(_rate(_subproc(options.env, options.workers), options.workers, options.steps))
        ours.append(_rate(_pool(options.env, options.envs, options.workers), options.envs, options.steps))
    same = [_rate(_pool(options.env, options.workers, options.workers), options.workers, options.steps) for _ in ours]
    ratios = [np.median(mine) / np.median(theirs) for mine in (ours, same)]
    print(f"{options.env}, {options.workers} workers, {options.steps:,} steps, median of {options.repeats}:")
    print(f"  SubprocVecEnv, {options.workers} environments  {np.median(theirs):10,.0f} steps/s")
    print(f"  Ludory, {options.workers} environments         {np.median(same):10,.0f} steps/s  {ratios[1]:.2f} x")
    print(f"  Ludory, {options.envs} environments        {np.median(ours):10,.0f} steps/s  {ratios[0]:.2f} x")
    if options.out:
        write_result(options.out, vars(options) | {"subproc": theirs, "pool": ours, "pool_one_each": same})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory bench own-envs",
        description="Environment steps per second in worker processes beside Stable-Baselines3's SubprocVecEnv, which has one environment a worker.",
    )
    parser.add_argument("--env", default="CartPole-v1", help="id of Gymnasium (default CartPole-v1)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--envs", type=int, default=16, help="environments of Ludory (default 16)")
    parser.add_argument("--steps", type=int, default=2000, help="of all environments, each time (default 2,000)")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each, in turns (default 3)")
    parser.add_argument("--out", help="JSON file of the result")
    return parser


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
