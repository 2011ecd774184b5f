"""`redeal` for Texas 42: draws the hands of the others uniformly over all deals that agree with what a seat knows.

It needs no table: the ways to deal unseen tiles are counted in closed form. Tiles that the same seats may hold are interchangeable,
so a set of tiles is described by its *groups*: the number of tiles for each of the seven sets of seats (bit j: seat j may hold it),
five bits each, at bit 5 * set of one integer.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np

from ludory.envs import draw, kernel

from .bits import played_tiles, size
from .state import PLUNGE, PLUNGE_DOUBLES, SPLASH, SPLASH_DOUBLES
from .tiles import ALL_TILES, DOUBLE_TILES

CHOOSE = np.array([[math.comb(n, k) for k in range(22)] for n in range(22)], np.int64)
"""int64 [n, k]: binomial coefficients."""


@kernel
def group_size(groups, seats):
    """Number of tiles that exactly the seats in the bit set `seats` may hold."""
    return (groups >> (5 * seats)) & 31


@kernel
def groups_of(tiles, may_0, may_1, may_2):
    """Groups of a mask of tiles."""
    groups = 0
    for tile in range(28):
        if (tiles >> tile) & 1:
            seats = ((may_0 >> tile) & 1) | (((may_1 >> tile) & 1) << 1) | (((may_2 >> tile) & 1) << 2)
            groups += 1 << (5 * seats)
    return groups


@kernel
def count_ways(groups, a, b, c):
    """Ways to give seats 0, 1, 2 exactly `a`, `b`, `c` tiles; group 0, tiles that nobody may hold, must be empty."""
    both_01, both_02, both_12, all_3 = (
        group_size(groups, 3),
        group_size(groups, 5),
        group_size(groups, 6),
        group_size(groups, 7),
    )
    # tiles that only one seat may hold go there
    a -= group_size(groups, 1)
    b -= group_size(groups, 2)
    c -= group_size(groups, 4)
    total = 0
    # a tile that nobody may hold, or numbers that do not add up: no world
    if group_size(groups, 0) > 0 or a + b + c != both_01 + both_02 + both_12 + all_3:
        return total
    for x in range(min(a, both_01) + 1):  # tiles of {0, 1} that seat 0 gets
        for y in range(min(a - x, both_02) + 1):  # of {0, 2} that seat 0 gets
            free_a = a - x - y
            if free_a > all_3:
                # whatever of the shared tiles seats 1 and 2 do not get this way must come from those of all three
                continue
            for z in range(both_12 + 1):  # of {1, 2} that seat 1 gets
                free_b, free_c = b - (both_01 - x) - z, c - (both_02 - y) - (both_12 - z)
                if free_b >= 0 and free_c >= 0:
                    pairs = int(CHOOSE[both_01, x]) * int(CHOOSE[both_02, y]) * int(CHOOSE[both_12, z])
                    total += pairs * int(CHOOSE[all_3, free_a]) * int(CHOOSE[all_3 - free_a, free_b])
    return total


@kernel
def count_worlds(doubles, others, a, b, c, need_0, need_1, need_2):
    """Ways to give out two sets of tiles, by their groups, so that each seat gets the doubles it needs at least."""
    if need_0 <= 0 and need_1 <= 0 and need_2 <= 0:
        return count_ways(doubles + others, a, b, c)
    number, total = 0, 0
    # how the doubles are shared out, x to seat 0 and y to seat 1; the other tiles then fill the hands
    for seats in range(8):
        number += group_size(doubles, seats)
    for x in range(max(need_0, 0), min(a, number) + 1):
        for y in range(max(need_1, 0), min(b, number - x) + 1):
            z = number - x - y
            if z >= need_2 and z <= c:
                ways = count_ways(doubles, x, y, z)
                if ways > 0:
                    total += ways * count_ways(others, a - x, b - y, c - z)
    return total


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
