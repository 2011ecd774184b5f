"""The agent that plays uniformly over legal moves."""

from __future__ import annotations

import numpy as np

from ludory.envs.engine import Array, on_host
from ludory.envs.game import Game, GameFacts
from ludory.envs.player import Memory

from .agent import Agent


class RandomAgent(Agent):
    """Uniform over the legal values of each head."""

    name = "random"

    def __init__(self, facts: GameFacts, seed: int | None = None) -> None:
        self._edges = np.cumsum(facts.head_sizes)[:-1]
        self._generator = np.random.default_rng(seed)

    def seed(self, seed: int) -> None:
        """Start the draws anew."""
        self._generator = np.random.default_rng(seed)

    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Actions (m,) for one head, (m, H) for several."""
        noise = self._generator.random(mask.shape, dtype=np.float32) + 1e-6
        heads = np.split(np.where(on_host(mask), noise, 0), self._edges, axis=1)
        actions = np.stack([part.argmax(axis=1) for part in heads], axis=1)
        self.log_probs = -np.log(np.stack([np.count_nonzero(part, axis=1) for part in heads], axis=1))
        return (actions[:, 0] if len(heads) == 1 else actions), memory


def make(game: Game, seed: int | None = None) -> RandomAgent:
    """`random`, or `random(seed=3)` for the same choices in every run."""
    return RandomAgent(game.facts, seed)
