"""Targets for auxiliary losses: the hand of a seat. They are never part of an observation or `info`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ludory.envs import Array, Engine, checked_seats
from ludory.errors import OptionError

from .rules import copies_of

PLAYABLE, DEAD, OTHER = 0, 1, 2
NO_CARD = 255


class OwnHand(NamedTuple):
    """The hands of one seat in N games, oldest slot first; NumPy arrays or, on CUDA, torch tensors."""

    cards: Array
    """uint8 (N, h): card id, colour * R + rank; 255 = empty slot."""
    kinds: Array
    """uint8 (N, h): PLAYABLE (0), DEAD (1), OTHER (2); 255 = empty slot."""


def own_hand(engine: Engine, seat: ArrayLike) -> OwnHand:
    """The cards of `seat`, one or (N,) integers, and whether they are playable or dead.

    A card is playable if it is the next card of its stack. It is dead if it can never be played: it is already on the stack, or all
    copies of a lower card that the stack still needs are discarded.

    Raises:
        OptionError: the game is not Hanabi, or there is no such seat.
    """
    state, facts = engine.state, engine.facts
    if "hands" not in state._fields:
        raise OptionError(f"own_hand needs an engine of Hanabi, got one of {facts.name}")
    rows = np.arange(engine.num_games)
    hands = state.hands[rows, checked_seats(seat, engine.num_games, facts)]  # (N, h)
    held = hands >= 0
    cards = _integers(hands) * held
    colors, ranks = state.fireworks.shape[1], state.discards.shape[1] // state.fireworks.shape[1]
    heights = _integers(state.fireworks)  # (N, C)
    reach = _reach(heights, _integers(state.discards).reshape(-1, colors, ranks))
    rank, color, column = cards % ranks, cards // ranks, rows[:, None]
    playable = rank == heights[column, color]
    dead = (rank < heights[column, color]) | (rank > reach[column, color])
    kinds = OTHER - (OTHER - PLAYABLE) * playable - (OTHER - DEAD) * dead
    return OwnHand(_bytes(cards * held + NO_CARD * ~held), _bytes(kinds * held + NO_CARD * ~held))


def _reach(heights: Array, discards: Array) -> Array:
    """(N, C): highest rank that each stack can still reach, from discards (N, C, R)."""
    ranks = discards.shape[2]
    reach = heights * 0 + ranks
    for rank in reversed(range(ranks)):
        gone = (heights <= rank) & (discards[:, :, rank] == getattr(copies_of, "py_func", copies_of)(rank, ranks))
        reach = gone * rank + ~gone * reach
    return reach


def _integers(array: Array) -> Array:
    return array.astype(np.int64) if isinstance(array, np.ndarray) else array.long()


def _bytes(array: Array) -> Array:
    return array.astype(np.uint8) if isinstance(array, np.ndarray) else array.byte()
