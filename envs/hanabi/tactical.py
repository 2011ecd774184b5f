"""The observation `tactical`: the canonical one, and bits that a player works out from it and from nothing else.

A small network cannot count unseen copies by itself. These bits do it: which cards can be played, are worthless or critical, and how likely
each own slot is one of them.

Numbers of copies, 0 to 3, are packed two bits to a card into one 64-bit integer, so that sums over the cards that a slot may be take a few
operations instead of a loop over cards.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ludory.envs import kernel

from .observation import OTHERS_BITS, OWN_BITS, observe_card_knowledge
from .rules import copies_of, rank_count

_OF_COLORS, _OF_RANKS = np.zeros(
    (2, 6, 32), np.int64
)  # [R, set]: 3 in the two bits of each card of these colours or ranks
for _ranks in range(1, 6):
    for _set in range(32):
        for _card in range(5 * _ranks):
            _OF_COLORS[_ranks, _set] |= (3 * (_set >> _card // _ranks & 1)) << 2 * _card
            _OF_RANKS[_ranks, _set] |= (3 * (_set >> _card % _ranks & 1)) << 2 * _card
# masks of 52 bits: 26 pairs, of which 25 are cards
_PAIRS, _NIBBLES, _BYTE = np.int64(0x3333333333333), np.int64(0xF0F0F0F0F0F0F), np.int64(255)
PLAYABLE, WORTHLESS, CRITICAL = 0, 6, 10
"""Where the bits of an own slot begin that say how likely it is such a card."""


@kernel
def _sum(counts):
    """Sum of 25 counts of two bits."""
    counts = (counts & _PAIRS) + ((counts >> np.int64(2)) & _PAIRS)
    counts = (counts & _NIBBLES) + ((counts >> np.int64(4)) & _NIBBLES)
    # the sum is 75 at most, so that the lowest byte does not overflow
    counts += counts >> np.int64(8)
    counts += counts >> np.int64(16)
    counts += counts >> np.int64(32)
    return int(counts & _BYTE)


@kernel
def observe_tactical(state, i, seat, out):
    """`card_knowledge`, then the segments playable_cards, worthless_cards, own_slots and other_slots."""
    write_tactical(state, i, seat, out, out.shape[0])


@kernel
def write_tactical(state, i, seat, out, end):
    """The observation `tactical` in the first `end` entries of `out`."""
    observe_card_knowledge(state, i, seat, out)
    players, hand = state.hands.shape[1], state.hands.shape[2]
    colors, ranks = state.fireworks.shape[1], rank_count(state)
    cards = colors * ranks
    own = end - (players - 1) * hand * OTHERS_BITS - hand * OWN_BITS
    at = own - 2 * cards

    # Two bits per card: copies neither discarded nor played, and 3 for each card that is playable, worthless or critical.
    left, playable, worthless, critical, exists = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for color in range(colors):
        height, reachable = int(state.fireworks[i, color]), True
        for rank in range(ranks):
            card = color * ranks + rank
            bits = np.int64(3) << np.int64(2 * card)
            copies = copies_of(rank, ranks) - int(state.discards[i, card]) - (1 if rank < height else 0)
            left |= np.int64(copies) << np.int64(2 * card)
            if copies > 0:
                exists |= bits
            if rank < height or not reachable:
                worthless |= bits
                out[at + cards + card] = 1
            else:
                if rank == height:
                    playable |= bits
                    out[at + card] = 1
                if copies == 1:
                    critical |= bits
                if copies == 0:
                    reachable = False
    # A card of which every copy is gone is not worthless by itself, but nobody holds one.

    unseen = left
    for offset in range(1, players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            unseen -= np.int64(1) << np.int64(2 * int(state.hands[i, other, slot]))

    for slot in range(int(state.held[i, seat])):
        bits = _OF_COLORS[ranks, int(state.colors[i, seat, slot])] & _OF_RANKS[ranks, int(state.ranks[i, seat, slot])]
        # two bits of each card that the slot may be: its number of copies
        bits &= unseen
        total = _sum(bits)
        play, waste, last = _sum(bits & playable), _sum(bits & worthless), _sum(bits & critical)
        start = own + slot * OWN_BITS
        out[start + PLAYABLE] = play > 0
        # play / total >= fifth / 5 without division
        for fifth in range(1, 5):
            out[start + PLAYABLE + fifth] = 5 * play >= fifth * total
        out[start + PLAYABLE + 5] = play == total
        out[start + WORTHLESS] = waste > 0
        out[start + WORTHLESS + 1] = 10 * waste > 3 * total
        out[start + WORTHLESS + 2] = 10 * waste > 6 * total
        out[start + WORTHLESS + 3] = waste == total
        out[start + CRITICAL] = last > 0
        out[start + CRITICAL + 1] = 10 * last > 3 * total

    start = own + hand * OWN_BITS
    for offset in range(1, players):
        other = (seat + offset) % players
        for slot in range(int(state.held[i, other])):
            here, shift = start + slot * OTHERS_BITS, np.int64(2 * int(state.hands[i, other, slot]))
            bits = _OF_COLORS[ranks, int(state.colors[i, other, slot])]
            bits &= _OF_RANKS[ranks, int(state.ranks[i, other, slot])] & exists
            out[here] = (playable >> shift) & np.int64(1)
            out[here + 1] = (worthless >> shift) & np.int64(1)
            out[here + 2] = (critical >> shift) & np.int64(1)
            out[here + 3] = (bits & playable) == bits
        start += hand * OTHERS_BITS
