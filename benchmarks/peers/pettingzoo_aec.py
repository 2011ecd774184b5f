"""One game as a PettingZoo AEC environment: `hanabi_v5` (OpenSpiel through Shimmy), or Ludory's under the same interface."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from importlib.metadata import version

MOVES = 64


def start(id: str, *packages: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """The environment `id`, with `packages` reported, the one that registers it first; a burst is 64 moves."""
    pettingzoo = importlib.import_module("pettingzoo")
    importlib.import_module(packages[0])
    env = pettingzoo.make("aec", id)
    generator = random.Random(1)
    env.reset(seed=1)

    def play(observe: bool) -> int:
        for _ in range(MOVES):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                observation = env.last()[0]
            env.step(generator.choice(observation["action_mask"].nonzero()[0].tolist()))
        return MOVES

    play(True)
    return {name: version(name) for name in packages}, play
