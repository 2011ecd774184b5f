"""Legal moves for trials: at random, but with tastes that differ from game to game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class RandomMoves:
    """Draws legal actions for a batch of games.

    Uniform play sees little of many games (in Hanabi it loses all lives in a dozen moves). So every game of the batch
    has a taste, from none in game 0 to a strong one: a bonus per action, the same in all of its moves.
    """

    def __init__(self, head_sizes: tuple[int, ...], games: int, generator: np.random.Generator) -> None:
        self._edges = np.cumsum(head_sizes)[:-1]
        self._generator = generator
        strength = 5.0 * (np.arange(games) % 8) / 7
        self._taste = strength[:, None] * generator.normal(size=(games, sum(head_sizes)))

    def __call__(self, masks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Actions shaped as `Engine.step` takes them, for masks (N, A) or (N, P, A)."""
        taste = self._taste if masks.ndim == 2 else self._taste[:, None]
        wish: NDArray[Any] = np.where(masks, taste + self._generator.gumbel(size=masks.shape), -np.inf)
        chosen = np.stack([part.argmax(axis=-1) for part in np.split(wish, self._edges, axis=-1)], axis=-1)
        return chosen[:, 0] if masks.ndim == 2 and not len(self._edges) else chosen
