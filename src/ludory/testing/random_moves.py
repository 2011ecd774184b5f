"""Random legal moves for trials, with preferences that differ from game to game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.facts import GameFacts


def head_parts(facts: GameFacts, masks: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Masks (..., A) cut into the part of each head; none for continuous actions."""
    return np.split(masks, np.cumsum(facts.head_sizes)[:-1], axis=-1) if facts.heads else []


def random_moves(
    masks: NDArray[np.bool_], facts: GameFacts, generator: np.random.Generator, taste: ArrayLike = 0.0
) -> NDArray[Any]:
    """Legal actions for masks (N, A) or (N, P, A), shaped as `Engine.step` takes them.

    taste: bonus of every action, broadcast over `masks`; a legal value of a head has the probability softmax(bonus). Continuous
    actions are uniform over their box, and Gaussian where it has no end.
    """
    if facts.box is not None:
        low, high = (np.array(end, np.float32) for end in facts.box)
        shape, bounded = (*masks.shape[:-1], len(low)), np.isfinite(high - low)
        drawn = np.where(
            bounded,
            generator.uniform(np.where(bounded, low, 0), np.where(bounded, high, 1), shape),
            generator.normal(size=shape),
        )
        return np.clip(drawn.astype(np.float32), low, high)
    wish = np.where(masks, np.add(taste, generator.gumbel(size=masks.shape)), -np.inf)
    chosen = np.stack([part.argmax(axis=-1) for part in head_parts(facts, wish)], axis=-1)
    return chosen[:, 0] if masks.ndim == 2 and len(facts.heads) == 1 else chosen


class RandomMoves:
    """Draws legal actions for a batch of games.

    Uniform play sees little of many games (in Hanabi it loses all lives in a dozen moves). So every game of the batch has its own
    preferences, from none in game 0 to strong ones: a bonus per action that stays the same in all of its moves.
    """

    def __init__(self, facts: GameFacts, games: int, generator: np.random.Generator) -> None:
        self._facts, self._generator = facts, generator
        strength = 5.0 * (np.arange(games) % 8) / 7
        self._taste = strength[:, None] * generator.normal(size=(games, facts.num_actions))

    def __call__(self, masks: NDArray[np.bool_]) -> NDArray[Any]:
        """Actions shaped as `Engine.step` takes them, for masks (N, A) or (N, P, A)."""
        taste = self._taste if masks.ndim == 2 else self._taste[:, None]
        return random_moves(masks, self._facts, self._generator, taste)
