"""What a record of a game shows to a seat: copies it has not seen, cards that fit its hints, and the record without the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.hanabi.beliefs.hand_sets import Counts, Hands, first_hand, pack, unpack
from ludory.errors import LudoryError

Record = NDArray[Any]
"""One game, [1]; of cards hidden from the seat that asks, only the kinds and numbers matter."""


class EmptyRangeError(LudoryError):
    """No hand agrees with what is known."""


def own_hands(records: NDArray[Any], seat: int) -> Hands:
    """The packed hands (n,) that a seat has in some worlds of one game."""
    return pack(records["hands"][:, seat, : int(records["held"][0, seat])], records["hands"].shape[2])


def hidden_cards(record: Record, seats: tuple[int, ...]) -> NDArray[np.int64]:
    """Card ids in the deck and in the hands of `seats`, sorted."""
    hands = [record["hands"][0, seat, : int(record["held"][0, seat])] for seat in seats]
    return np.sort(np.concatenate([record["deck"][0, int(record["deck_top"][0]) :], *hands])).astype(np.int64)


def unseen_counts(record: Record, seats: tuple[int, ...]) -> Counts:
    """Copies (C*R) of every card in the deck and in the hands of `seats`."""
    counts: Counts = np.bincount(hidden_cards(record, seats), minlength=record["discards"].shape[1]).astype(np.int64)
    return counts


def allowed_cards(record: Record, seat: int) -> NDArray[np.int64]:
    """Bit set of the cards that fit the hints, for every slot of a seat (held)."""
    cards, held = record["discards"].shape[1], int(record["held"][0, seat])
    ids, ranks = np.arange(cards), cards // record["fireworks"].shape[1]
    told_colors, told_ranks = record["colors"][0, seat, :held, None], record["ranks"][0, seat, :held, None]
    plausible = (told_colors >> (ids // ranks)) & (told_ranks >> (ids % ranks)) & 1
    allowed: NDArray[np.int64] = (plausible.astype(np.int64) << ids).sum(axis=1)
    return allowed


def as_known_to(record: Record, seat: int) -> Record:
    """The same for any two records between which `seat` cannot tell: what is hidden from it is put in order.

    `seat` then holds the first hand that fits its hints.

    Raises:
        EmptyRangeError: none does.
    """
    return _dealt(record, seat, hidden_cards(record, (seat,)))


def if_held(record: Record, holder: int, hand: int, seat: int) -> Record:
    """The record as known to `seat` if `holder`, the only other seat, held a packed hand.

    Raises:
        EmptyRangeError: no hand of `seat` that fits its hints is left then.
    """
    hidden, held = hidden_cards(record, (holder, seat)), int(record["held"][0, holder])
    cards = unpack(np.array([hand], np.int64), held)[0]
    changed = record.copy()
    changed["hands"][0, holder, :held] = cards
    return _dealt(changed, seat, _without(hidden, cards))


def _dealt(record: Record, seat: int, hidden: NDArray[np.int64]) -> Record:
    """A copy in which `seat` holds the first hand of `hidden` that fits, the deck the rest."""
    held, size = int(record["held"][0, seat]), record["hands"].shape[2]
    counts = np.bincount(hidden, minlength=record["discards"].shape[1]).astype(np.int64)
    hand = first_hand(counts, allowed_cards(record, seat), size)
    if len(hand) == 0:
        raise EmptyRangeError("no hand fits the hints")
    cards = unpack(hand, held)[0]
    left, known = _without(hidden, cards), record.copy()
    known["hands"][0, seat, :held] = cards
    known["deck"][0] = np.concatenate([_without(np.sort(record["deck"][0]), left), left])
    known["random"] = 0
    known["ways"] = 0
    return known


def _without(cards: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sorted cards less some of them."""
    size = int(max(cards.max(initial=0), taken.max(initial=0))) + 1
    return np.repeat(np.arange(size), np.bincount(cards, minlength=size) - np.bincount(taken, minlength=size))
