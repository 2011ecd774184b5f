"""Sets of hands: every hand that a seat may hold, packed into one integer, and what evidence does to such a set.

A hand of h cards holds the card id of slot s in its bits 5s..5s+4; sets are integer arrays [n] without repeats.
counts [C*R] are copies that the seat has not seen: neither gone nor in another hand.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import batch_kernel

BITS = 5
"""Of a packed card id; 25 cards at most."""
CARD = (1 << BITS) - 1

Hands = NDArray[Any]
"""Packed hands: int32 for hands of up to 6 cards, int64 above."""
Counts = NDArray[np.int64]


def hand_dtype(hand_size: int) -> type[np.signedinteger[Any]]:
    """Smallest integer that holds a packed hand."""
    return np.int32 if hand_size <= 6 else np.int64  # 6 cards of 5 bits take 30


def all_hands(counts: Counts, allowed: NDArray[np.int64], hand_size: int) -> Hands:
    """Every hand that the unseen copies can make up, slot s being one of the cards in the bit set allowed[s]."""
    hands = np.empty(count_hands(counts, allowed), hand_dtype(hand_size))
    _write_hands(counts.copy(), allowed, np.empty(len(allowed), np.int64), hands, len(hands))
    return hands


def first_hand(counts: Counts, allowed: NDArray[np.int64], hand_size: int) -> Hands:
    """The first of `all_hands` [1], or [0] if there is none."""
    hands = np.empty(1, hand_dtype(hand_size))
    return hands[: _write_hands(counts.copy(), allowed, np.empty(len(allowed), np.int64), hands, 1)]


def count_hands(counts: Counts, allowed: NDArray[np.int64], most: int = 1 << 62) -> int:
    """How many hands `all_hands` gives; counts to `most` only."""
    nothing = np.empty(0, np.int32)
    return int(_write_hands(counts.copy(), allowed, np.empty(len(allowed), np.int64), nothing, most))


def ways(hands: Hands, held: int, counts: Counts) -> NDArray[np.int64]:
    """In how many ways each hand can be made of physical copies: 0 if it cannot."""
    found = np.empty(len(hands), np.int64)
    _count_ways(hands, held, counts.copy(), found)
    return found


def fits(hands: Hands, allowed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which hands have in every slot s one of the cards in the bit set allowed[s]."""
    found = np.empty(len(hands), np.bool_)
    _test_fit(hands, allowed, found)
    return found


def has_card(hands: Hands, slot: int, card: int) -> NDArray[np.bool_]:
    """Which hands have a card in a slot."""
    found: NDArray[np.bool_] = (hands >> BITS * slot) & CARD == card
    return found


def without_slot(hands: Hands, slot: int) -> Hands:
    """The hands with a slot removed and the gap closed."""
    # lower slots stay, higher ones move down by one
    low = (1 << BITS * slot) - 1
    return (hands & low) | ((hands >> BITS * (slot + 1)) << BITS * slot)


def with_drawn_card(hands: Hands, held: int, counts: Counts) -> Hands:
    """The hands of `held` cards with each card kind that may have been drawn as the newest."""
    drawn = np.flatnonzero(counts).astype(hands.dtype) << BITS * held
    longer: Hands = (hands[:, None] | drawn).ravel()
    return longer


def with_card_back(hands: Hands, held: int, slot: int, card: int, drew: bool) -> Hands:
    """The hands of `held` cards from which a card was taken out of a slot, after which, if `drew`, another was drawn."""
    kept = hands & ((1 << BITS * (held - 1)) - 1) if drew else hands
    low = (1 << BITS * slot) - 1
    # the newest card is in the highest slot, so dropping it is a mask
    return (kept & low) | (card << BITS * slot) | ((kept & ~low) << BITS)


def unpack(hands: Hands, held: int) -> NDArray[np.int64]:
    """Card ids (n, held), oldest first."""
    cards: NDArray[np.int64] = (hands[:, None].astype(np.int64) >> BITS * np.arange(held)) & CARD
    return cards


def pack(cards: NDArray[Any], hand_size: int) -> Hands:
    """Packed hands of card ids (n, held)."""
    shifted = cards.astype(np.int64) << BITS * np.arange(cards.shape[1])
    hands: Hands = shifted.sum(axis=1).astype(hand_dtype(hand_size))
    return hands


@batch_kernel
def _write_hands(counts, allowed, cards, out, most):
    """Depth first over the slots; writes as many hands as `out` holds, gives how many there are, up to `most`.

    cards [held]: working memory.
    """
    held, kinds = allowed.shape[0], counts.shape[0]
    if held == 0:
        if out.shape[0] > 0:
            out[0] = 0
        return 1
    # `counts` has what is left of each kind by the cards of the slots before; it is as given at the end of a full pass
    found, slot = 0, 0
    cards[0] = -1
    while slot >= 0 and found < most:
        card = cards[slot]
        # take the card of this slot back before the next one is tried
        if card >= 0:
            counts[card] += 1
        card += 1
        while card < kinds and (counts[card] == 0 or not (allowed[slot] >> card) & 1):
            card += 1
        if card == kinds:
            slot -= 1
            continue
        cards[slot] = card
        counts[card] -= 1
        if slot < held - 1:
            slot += 1
            cards[slot] = -1
            continue
        if found < out.shape[0]:
            packed = 0
            for s in range(held):
                packed |= cards[s] << (5 * s)
            out[found] = packed
        found += 1
    return found


@batch_kernel
def _count_ways(hands, held, counts, out):
    for k in range(hands.shape[0]):
        hand, number = int(hands[k]), 1
        for slot in range(held):
            # copies left times copies left after that: the number of ordered choices of physical cards
            card = (hand >> (5 * slot)) & 31
            number *= max(counts[card], 0)
            counts[card] -= 1
        # restored, not copied: the loop allocates nothing
        for slot in range(held):
            counts[(hand >> (5 * slot)) & 31] += 1
        out[k] = number


@batch_kernel
def _test_fit(hands, allowed, out):
    for k in range(hands.shape[0]):
        hand, fit = int(hands[k]), True
        for slot in range(allowed.shape[0]):
            fit = fit and (allowed[slot] >> ((hand >> (5 * slot)) & 31)) & 1 == 1
        out[k] = fit
