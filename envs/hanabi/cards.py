"""What players of Hanabi ask about cards: sets of card ids as bit sets, and counts of the copies a seat cannot see."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel

from .rules import copies_of, rank_count
from .state import COLOR_KNOWN, RANK_KNOWN


@kernel
def gone(state, i, card, ranks):
    """Copies of a card that are discarded or played."""
    # one copy of each rank below the height is on the stack
    played = 1 if card % ranks < int(state.fireworks[i, card // ranks]) else 0
    return int(state.discards[i, card]) + played


@kernel
def is_playable(state, i, card, ranks):
    """Whether a card is the next of its stack."""
    return card % ranks == int(state.fireworks[i, card // ranks])


@kernel
def playable_cards(state, i):
    """Bit set of the cards that can be played now."""
    ranks, cards = rank_count(state), 0
    for color in range(state.fireworks.shape[1]):
        height = int(state.fireworks[i, color])
        if height < ranks:
            cards |= 1 << (color * ranks + height)
    return cards


@kernel
def worthless_cards(state, i):
    """Bit set of the cards that can never be played: already on the stack, or all copies of a rank below them are gone."""
    ranks, cards = rank_count(state), 0
    for color in range(state.fireworks.shape[1]):
        height = int(state.fireworks[i, color])
        blocked = False
        for rank in range(ranks):
            card = color * ranks + rank
            if rank < height or blocked:
                cards |= 1 << card
            # the last copy is gone while it is still needed: nothing above it can be played
            if rank >= height and gone(state, i, card, ranks) == copies_of(rank, ranks):
                blocked = True
    return cards


@kernel
def plausible_cards(state, i, seat, slot):
    """Bit set of the cards that the hints about a slot leave open; reads no hand."""
    ranks, cards = rank_count(state), 0
    for color in range(state.fireworks.shape[1]):
        if (int(state.colors[i, seat, slot]) >> color) & 1:
            # ranks that hints leave open, once for each colour left open: a product of two bit sets
            cards |= int(state.ranks[i, seat, slot]) << (color * ranks)
    return cards


@kernel
def unseen_copies(state, i, seat):
    """Copies of every card that are neither gone nor in another seat's hand, as two bit sets: count = ones + 2 * twos."""
    ranks, ones, twos = rank_count(state), 0, 0
    for card in range(state.discards.shape[1]):
        left = copies_of(card % ranks, ranks) - gone(state, i, card, ranks)
        # at most 3 copies: two bits
        ones |= (left & 1) << card
        twos |= (left >> 1) << card
    for other in range(state.hands.shape[1]):
        if other != seat:
            for slot in range(int(state.held[i, other])):
                bit = 1 << int(state.hands[i, other, slot])
                twos ^= bit & ~ones  # one copy less: borrow where ones is 0
                ones ^= bit
    return ones, twos


@kernel
def count_bits(cards):
    """Number of cards in a bit set (below 2**32)."""
    # counts of 2, 4 and 8 bits side by side, then one multiplication adds the four bytes
    cards -= (cards >> 1) & 0x55555555
    cards = (cards & 0x33333333) + ((cards >> 2) & 0x33333333)
    cards = (cards + (cards >> 4)) & 0x0F0F0F0F
    return ((cards * 0x01010101) & 0xFFFFFFFF) >> 24


@kernel
def copies_in(cards, ones, twos):
    """Number of unseen copies, as `unseen_copies` gives them, of the cards in a bit set."""
    return count_bits(cards & ones) + 2 * count_bits(cards & twos)


@kernel
def color_known(state, i, seat, slot):
    """Whether a hint has named the colour of a slot."""
    return int(state.hinted[i, seat, slot]) & COLOR_KNOWN != 0


@kernel
def rank_known(state, i, seat, slot):
    """Whether a hint has named the rank of a slot."""
    return int(state.hinted[i, seat, slot]) & RANK_KNOWN != 0
