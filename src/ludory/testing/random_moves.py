"""Legal moves for trials: at random, but with tastes that differ from game to game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def random_moves(
    masks: NDArray[np.bool_], head_sizes: tuple[int, ...], generator: np.random.Generator, taste: Any = 0.0
) -> NDArray[np.int64]:
    """Legal actions for masks (N, A) or (N, P, A), shaped as `Engine.step` takes them.

    taste: bonus of every action, broadcast over `masks`; the chance of a legal value of a head is softmax(bonus).
    """
    wish = np.where(masks, taste + generator.gumbel(size=masks.shape), -np.inf)
    parts = np.split(wish, np.cumsum(head_sizes)[:-1], axis=-1)
    chosen = np.stack([part.argmax(axis=-1) for part in parts], axis=-1)
    return chosen[:, 0] if masks.ndim == 2 and len(parts) == 1 else chosen


class RandomMoves:
    """Draws legal actions for a batch of games.

    Uniform play sees little of many games (in Hanabi it loses all lives in a dozen moves). So every game of the batch
    has a taste, from none in game 0 to a strong one: a bonus per action, the same in all of its moves.
    """

    def __init__(self, head_sizes: tuple[int, ...], games: int, generator: np.random.Generator) -> None:
        self._head_sizes, self._generator = head_sizes, generator
        strength = 5.0 * (np.arange(games) % 8) / 7
        self._taste = strength[:, None] * generator.normal(size=(games, sum(head_sizes)))

    def __call__(self, masks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Actions shaped as `Engine.step` takes them, for masks (N, A) or (N, P, A)."""
        taste = self._taste if masks.ndim == 2 else self._taste[:, None]
        return random_moves(masks, self._head_sizes, self._generator, taste)
