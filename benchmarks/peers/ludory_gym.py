"""One game of Ludory as a Gymnasium environment, made and used as any other."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.metadata import version

import gymnasium as gym

import ludory  # noqa: F401 (registers its games)

MOVES = 64


def start() -> tuple[dict[str, str], Callable[[bool], int]]:
    """Hanabi for two, one policy for both seats; a burst is 64 moves."""
    env = gym.make("Hanabi2P-v0")
    generator = random.Random(1)
    info = env.reset(seed=1)[1]

    def play(observe: bool) -> int:
        nonlocal info
        for _ in range(MOVES):
            action = generator.choice(info["action_mask"].nonzero()[0].tolist())
            _, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                info = env.reset()[1]
        return MOVES

    play(True)
    return {name: version(name) for name in ("ludory", "gymnasium")}, play
