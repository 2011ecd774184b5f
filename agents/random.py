"""`RandomAgent`: uniform over legal actions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Array, Game, GameFacts, Memory, on_host

from .agent import DrawingAgent
from .draws import ONE_MORE, uniforms


class RandomAgent(DrawingAgent):
    """Uniform over the legal values of each head, or over the box of continuous actions.

    Memory: int64 (rows, 2), a game's key and the number of draws in it.
    """

    name = "random"

    def __init__(self, facts: GameFacts, seed: int | None = None) -> None:
        self._edges, self._box = np.cumsum(facts.head_sizes)[:-1], facts.box
        super().__init__(seed)

    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Actions (m,) for one head, (m, H) for several; memory None: the games have just begun."""
        memory = self.initial_memory(len(mask)) if memory is None else memory
        if self._box is not None:
            numbers = uniforms(memory[:, 0], memory[:, 1], len(self._box.low))
            return _spread(numbers, *self._box), memory + ONE_MORE
        heads = np.split(on_host(mask), self._edges, axis=1)
        numbers = uniforms(memory[:, 0], memory[:, 1], len(heads))
        counts = np.stack([np.count_nonzero(part, axis=1) for part in heads], axis=1)
        places = (numbers * counts).astype(np.int64)
        actions = np.stack([_legal_at(part, place) for part, place in zip(heads, places.T, strict=True)], axis=1)
        self.log_probs = -np.log(counts)
        return (actions[:, 0] if len(heads) == 1 else actions), memory + ONE_MORE

    def probabilities(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """The same probability for every legal action, (m, A)."""
        legal = on_host(mask)
        return legal / legal.sum(axis=1, keepdims=True), memory


def _legal_at(mask: NDArray[np.bool_], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """(m,) the legal value with `place` (m,) legal values before it; mask (m, values)."""
    found: NDArray[np.int64] = (mask.cumsum(axis=1) > place[:, None]).argmax(axis=1)
    return found


def _spread(numbers: NDArray[np.float64], low: Sequence[float], high: Sequence[float]) -> NDArray[np.float32]:
    """Scale numbers (m, D) in [0, 1) to the bounds; an infinite bound counts as 1 away from 0, or from the other bound."""
    least, most = np.array(low), np.array(high)
    start = np.where(np.isfinite(least), least, np.where(np.isfinite(most), most - 1, -1))
    end = np.where(np.isfinite(most), most, start + np.where(np.isfinite(least), 1, 2))
    spread: NDArray[np.float32] = (start + numbers * (end - start)).astype(np.float32)
    return spread


def make(game: Game, seed: int | None = None) -> RandomAgent:
    """`random`, or `random(seed=3)` for the same choices in every run."""
    return RandomAgent(game.facts, seed)
