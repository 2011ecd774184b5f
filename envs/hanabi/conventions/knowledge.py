"""What a seat keeps in mind that plays by the conventions of SmartBot: for every slot at the table, the set of cards that the table may still believe it to be.

Memory of a seat: int32 [P * h], for slot s of seat p at p * h + s the bit set of the cards that are *ruled out*, so that
zeros, the memory before the first move, mean that nothing is known. An empty set of beliefs, which only moves against the
conventions leave behind, answers "maybe" to everything and counts as no known card.

`play`, `valuable`, `worthless` are the bit sets of `public_sets`; `ones`, `twos` count copies: count = ones + 2 * twos.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.hanabi.cards import count_bits, gone
from ludory.envs.hanabi.rules import copies_of, rank_count

SIZE_OF_EMPTY = 10
"""Number of cards that an empty set counts for when hints are compared."""


@kernel
def all_cards(state):
    """Bit set of all cards."""
    return (1 << state.discards.shape[1]) - 1


@kernel
def belief(state, memory, seat, slot):
    """Cards that the table may believe a slot to be."""
    return all_cards(state) & ~int(memory[seat * state.hands.shape[2] + slot])


@kernel
def believe(state, memory, seat, slot, cards):
    """Note that the table takes a slot for one of `cards`."""
    memory[seat * state.hands.shape[2] + slot] = all_cards(state) & ~cards


@kernel
def public_sets(state, i):
    """Playable, valuable and worthless cards, and the copies of every card that are neither discarded nor played."""
    ranks = rank_count(state)
    play, valuable, worthless, ones, twos = 0, 0, 0, 0, 0
    for color in range(state.fireworks.shape[1]):
        height, blocked = int(state.fireworks[i, color]), False
        for rank in range(ranks):
            card = color * ranks + rank
            bit, left = 1 << card, copies_of(rank, ranks) - gone(state, i, card, ranks)
            ones |= (left & 1) << card
            twos |= (left >> 1) << card
            if rank == height:
                play |= bit
            if rank < height or blocked:
                worthless |= bit
            else:
                # one copy left of a card that is still needed
                valuable |= bit if left == 1 else 0
                blocked = left == 0
    return play, valuable, worthless, ones, twos


@kernel
def all_in(cards, wanted):
    """Whether a set of beliefs says "yes": it is not empty and all in `wanted`."""
    return cards != 0 and cards & ~wanted == 0


@kernel
def none_in(cards, wanted):
    """Whether a set of beliefs says "no": it is not empty and has nothing of `wanted`."""
    return cards != 0 and cards & wanted == 0


@kernel
def maybe_in(cards, wanted):
    """Whether a set of beliefs leaves open if the card is in `wanted`."""
    return not all_in(cards, wanted) and not none_in(cards, wanted)


@kernel
def is_known(cards):
    """Whether a set of beliefs is one card."""
    return cards != 0 and cards & (cards - 1) == 0


@kernel
def share_in(cards, wanted):
    """How many kinds of a set of beliefs are in `wanted`, and how many there are."""
    # 1/2: an empty set answers "maybe" to everything
    return (1, 2) if cards == 0 else (count_bits(cards & wanted), count_bits(cards))


@kernel
def size_of(cards):
    """Number of kinds of cards in a set of beliefs."""
    return SIZE_OF_EMPTY if cards == 0 else count_bits(cards)


@kernel
def cards_of_rank(state, rank):
    """Bit set of the cards of a rank."""
    ranks, cards = rank_count(state), 0
    for color in range(state.fireworks.shape[1]):
        cards |= 1 << (color * ranks + rank)
    return cards


@kernel
def cards_of_color(state, color):
    """Bit set of the cards of a colour."""
    ranks = rank_count(state)
    return ((1 << ranks) - 1) << (color * ranks)


@kernel
def one_less(bit, ones, twos):
    """The counts with one copy less of a card; none if there was none."""
    if ones & bit:
        return ones ^ bit, twos
    if twos & bit:
        # two minus one is one: the borrow sets `ones`
        return ones | bit, twos ^ bit
    return ones, twos


@kernel
def settle(state, i, memory, ones, twos):
    """Rule out, in every hand, the cards of which all copies are gone or located in slots that the table knows."""
    # a slot that becomes known takes a copy, which may settle others
    changed = True
    while changed:
        changed = False
        left_ones, left_twos = ones, twos
        for seat in range(state.hands.shape[1]):
            for slot in range(int(state.held[i, seat])):
                cards = belief(state, memory, seat, slot)
                if is_known(cards):
                    left_ones, left_twos = one_less(cards, left_ones, left_twos)
        left = left_ones | left_twos
        for seat in range(state.hands.shape[1]):
            for slot in range(int(state.held[i, seat])):
                cards = belief(state, memory, seat, slot)
                # a known slot keeps its card: that copy is counted in `left` as located
                if cards & ~left and not is_known(cards):
                    believe(state, memory, seat, slot, cards & left)
                    changed = changed or is_known(cards & left)


@kernel
def next_discard(state, i, seat, memory, play, valuable, worthless):
    """Slot that the table expects a seat to discard next, -1 if none.

    None if a card of the seat is surely playable or worthless; else the one that is most probably worthless.
    """
    best, best_hits, best_size = -1, -1, 1
    for slot in range(int(state.held[i, seat])):
        cards = belief(state, memory, seat, slot)
        if all_in(cards, play) or all_in(cards, worthless):
            # it will play or discard that one instead
            return -1
        hits, size = share_in(cards, worthless)
        # greater only, so that the oldest of equals is expected
        if not all_in(cards, valuable) and hits * best_size > best_hits * size:
            best, best_hits, best_size = slot, hits, size
    return best


@kernel
def may_be_valuable_as(cards, valuable, of_rank):
    """Whether a rank, told of a slot, reads as a warning: it may be valuable, and is not surely so."""
    return maybe_in(cards, valuable) and cards & valuable & of_rank != 0
