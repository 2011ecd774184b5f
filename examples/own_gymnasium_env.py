"""An environment of your own: write it for Gymnasium, train it here.

python examples/own_gymnasium_env.py
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import ludory


class Corridor(gym.Env[Any, Any]):
    """Walk to the right end of a corridor of five fields; every step costs a tenth."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start at one of the four fields on the left."""
        super().reset(seed=seed)
        self.field, self.steps = int(self.np_random.integers(4)), 0
        return self.field, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Go left (0) or right (1)."""
        self.field = int(np.clip(self.field + 2 * action - 1, 0, 4))
        self.steps += 1
        arrived = self.field == 4
        return self.field, 0.9 if arrived else -0.1, arrived, self.steps >= 20, {}


def main(timesteps: int = 8_000) -> float:
    """Train, and return the mean return of 100 games."""
    model = ludory.make_algorithm("ppo", env=Corridor, seed=1).learn(timesteps)
    result = ludory.evaluate(model.as_agent(), game=model.game, games=100, seed=2)
    print(f"mean return {result.mean:.2f}; the best is about 0.75")
    return float(result.mean)


if __name__ == "__main__":
    main()
