"""Kernels that count the ways to deal unseen tiles, in closed form and without working memory.

Tiles that the same seats may hold are interchangeable, so a set of tiles is described by its *groups*: the number of tiles for each of
the seven sets of seats (bit j: seat j may hold it), five bits each, at bit 5 * set of one integer.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

import numpy as np

from ludory.envs import kernel

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
