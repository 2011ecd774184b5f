"""`redeal` for Texas 42: draws the hands of the others uniformly over all deals that agree with what a seat knows.

It needs no table: each tile is dealt according to the number of ways to deal the rest, which `ways.py` counts in closed form.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import draw, kernel

from .bits import played_tiles, size
from .state import PLUNGE, PLUNGE_DOUBLES, SPLASH, SPLASH_DOUBLES
from .tiles import ALL_TILES, DOUBLE_TILES
from .ways import count_worlds, groups_of


@kernel
def unseen_tiles(state, i, seat):
    """Mask of the tiles that are neither played nor in the seat's own hand."""
    return ALL_TILES & ~played_tiles(state, i) & ~int(state.held[i, seat])


@kernel
def doubles_needed(state, i, seat):
    """Doubles that `seat` still holds at least, by its plunge or splash and what it has played; 0 or less: none."""
    # the bid told a number of doubles in the hand as dealt; those that were played count
    action = int(state.bids[i, seat])
    dealt = PLUNGE_DOUBLES if action == PLUNGE else SPLASH_DOUBLES if action == SPLASH else 0
    return dealt - size(int(state.dealt[i, seat]) & ~int(state.held[i, seat]) & DOUBLE_TILES)


@kernel
def redeal(state, i, seat):
    """Draw the rank of a world uniformly and deal that world: doubles first, then the other tiles, by id."""
    left, across, right = (seat + 1) & 3, (seat + 2) & 3, (seat + 3) & 3
    unseen = unseen_tiles(state, i, seat)
    may_0 = unseen & ~int(state.cannot[i, left])
    may_1 = unseen & ~int(state.cannot[i, across])
    may_2 = unseen & ~int(state.cannot[i, right])
    a, b, c = size(int(state.held[i, left])), size(int(state.held[i, across])), size(int(state.held[i, right]))
    need_0, need_1, need_2 = (
        doubles_needed(state, i, left),
        doubles_needed(state, i, across),
        doubles_needed(state, i, right),
    )
    doubles = groups_of(unseen & DOUBLE_TILES, may_0, may_1, may_2)
    others = groups_of(unseen & ~DOUBLE_TILES, may_0, may_1, may_2)
    # a uniform rank among all worlds decides every tile: one draw, no rejection
    rank = draw(state, i, count_worlds(doubles, others, a, b, c, need_0, need_1, need_2))
    hand_0, hand_1, hand_2 = 0, 0, 0
    # doubles first: once they are dealt, `need` has no more say
    for step in range(56):
        tile, is_double = step % 28, step < 28
        pool = unseen & DOUBLE_TILES if is_double else unseen & ~DOUBLE_TILES
        if (pool >> tile) & 1 == 0:
            continue
        bit = 1 << tile
        seats = ((may_0 >> tile) & 1) | (((may_1 >> tile) & 1) << 1) | (((may_2 >> tile) & 1) << 2)
        # out of its group: it is being dealt
        if is_double:
            doubles -= 1 << (5 * seats)
        else:
            others -= 1 << (5 * seats)
        given = int(is_double)
        ways = 0
        # the ways in which the left seat gets it, with the rest dealt as the rules allow
        if seats & 1 and a > 0:
            ways = count_worlds(doubles, others, a - 1, b, c, need_0 - given, need_1, need_2)
        if rank < ways:
            hand_0 |= bit
            a -= 1
            need_0 -= given
            continue
        rank -= ways
        ways = 0
        if seats & 2 and b > 0:
            ways = count_worlds(doubles, others, a, b - 1, c, need_0, need_1 - given, need_2)
        if rank < ways:
            hand_1 |= bit
            b -= 1
            need_1 -= given
            continue
        rank -= ways
        # nobody else is left
        hand_2 |= bit
        c -= 1
        need_2 -= given
    _take(state, i, left, hand_0)
    _take(state, i, across, hand_1)
    _take(state, i, right, hand_2)


@kernel
def _take(state, i, seat, hand):
    """Give a seat another hand; what it has played stays."""
    played = int(state.dealt[i, seat]) & ~int(state.held[i, seat])
    state.held[i, seat] = hand
    state.dealt[i, seat] = hand | played
