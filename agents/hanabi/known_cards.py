"""What a record of a game shows to a seat: copies it has not seen, cards that fit its hints, and the record without the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .hand_sets import Counts, Hands, pack

Record = NDArray[Any]
"""One game, [1]; of cards hidden from the seat that asks, only the kinds and numbers matter."""


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
    """The same for any two records between which `seat` can not tell: what is hidden from it is put in order of card id."""
    known, top, held = record.copy(), int(record["deck_top"][0]), int(record["held"][0, seat])
    hidden = hidden_cards(record, (seat,))
    everything = np.sort(record["deck"][0])
    seen = np.repeat(np.arange(record["discards"].shape[1]), _copies(everything, record) - _copies(hidden, record))
    known["deck"][0] = np.concatenate([seen, hidden])
    known["hands"][0, seat, :held] = known["deck"][0, top - held : top]
    known["random"] = 0
    known["ways"] = 0
    return known


def with_hand(record: Record, seat: int, hand: int) -> Record:
    """The record as it would be if `seat` held a packed hand; the deck gives and takes the cards, in order of card id."""
    changed, top, held = record.copy(), int(record["deck_top"][0]), int(record["held"][0, seat])
    counts = unseen_counts(record, (seat,))
    cards = (hand >> 5 * np.arange(held)) & 31
    counts -= np.bincount(cards, minlength=len(counts))
    changed["hands"][0, seat, :held] = cards
    changed["deck"][0, top:] = np.repeat(np.arange(len(counts)), counts)
    return changed


def _copies(cards: NDArray[Any], record: Record) -> NDArray[np.int64]:
    return np.bincount(cards, minlength=record["discards"].shape[1])
