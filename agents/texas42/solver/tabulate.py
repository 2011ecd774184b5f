"""Kernels of the tabulator: values of all positions between tricks that can be reached in one deal.

With k tricks left a position has one of C = C(7, k) subsets of each dealt hand, numbered among the subsets of their size, and a leader:
slot base[k] + (((r3 C + r2) C + r1) C + r0) 4 + leader. Tiles are numbered 7 seat + local index.

`deal` is a `tabulator.Deal`: follow int64 [28, 4] (by the tile led, 7-bit mask of each seat's tiles that follow), able int64 [28, 28]
(by the tile led: strength of every tile, 0 cannot win), counts int64 [28]. `slots` a `tabulator.Slots`: number int64 [128] of a subset, base int64 [9],
sizes int64 [8] (C by k). Working memory of a call: `held` int64 [4], `given` int64 [4], `offsets` int64 [28], the part of the slot, one
trick later, when that tile is played.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np

from ludory.envs import batch_kernel, cached_batch_kernel

from .states import NO_TILE

UNREACHED, REACHED = -128, 127
_LOWEST = np.array([0] + [(mask & -mask).bit_length() - 1 for mask in range(1, 128)], np.int64)
"""Local index of the lowest tile of a hand."""


@batch_kernel
def set_offsets(held, tricks, slots, offsets):
    """Fill `offsets` for the hands `held` [4] with `tricks` tricks left; returns the slot of leader 0 after none is played."""
    # the leader is the lowest digit of a slot, of base 4; the seats follow, each with base C(7, k - 1)
    scale, size = 4, slots.sizes[tricks - 1]
    for seat in range(4):
        for local in range(7):
            # a tile of one seat changes the digit of that seat alone, so that the parts of four tiles can be added
            if (held[seat] >> local) & 1:
                offsets[7 * seat + local] = slots.number[held[seat] ^ (1 << local)] * scale
        scale *= size
    return slots.base[tricks - 1]


@batch_kernel
def answers(held, following):
    """Mask of the tiles with which a hand may follow."""
    return held & following if held & following else held


@batch_kernel
def best_of_trick(leader, held, given, slot, deal, offsets, table):
    """Value of a position between tricks; given [4]: by place in the trick, mask of the only tile that may be played, 0: any."""
    second, third, fourth = (leader + 1) & 3, (leader + 2) & 3, (leader + 3) & 3
    side, best_a = 1 if leader & 1 == 0 else -1, -99  # values are from the leader's side until the end
    moves_a = given[0] if given[0] != 0 else held[leader]
    while moves_a != 0:
        led = 7 * leader + int(_LOWEST[moves_a])
        moves_a &= moves_a - 1
        points_a, at_a, best_b = 1 + deal.counts[led], slot + offsets[led], 99
        answers_c = given[2] if given[2] != 0 else answers(held[third], deal.follow[led, third])
        answers_d = given[3] if given[3] != 0 else answers(held[fourth], deal.follow[led, fourth])
        moves_b = given[1] if given[1] != 0 else answers(held[second], deal.follow[led, second])
        while moves_b != 0:
            tile_b = 7 * second + int(_LOWEST[moves_b])
            moves_b &= moves_b - 1
            top_b, owner_b = deal.able[led, led], leader
            if deal.able[led, tile_b] > top_b:
                top_b, owner_b = deal.able[led, tile_b], second
            points_b, at_b, best_c, moves_c = points_a + deal.counts[tile_b], at_a + offsets[tile_b], -99, answers_c
            while moves_c != 0:
                tile_c = 7 * third + int(_LOWEST[moves_c])
                moves_c &= moves_c - 1
                top_c, owner_c = top_b, owner_b
                if deal.able[led, tile_c] > top_c:
                    top_c, owner_c = deal.able[led, tile_c], third
                points_c, at_c, best_d, moves_d = points_b + deal.counts[tile_c], at_b + offsets[tile_c], 99, answers_d
                while moves_d != 0:
                    tile_d = 7 * fourth + int(_LOWEST[moves_d])
                    moves_d &= moves_d - 1
                    winner = fourth if deal.able[led, tile_d] > top_c else owner_c
                    gain = points_c + deal.counts[tile_d]
                    value = side * table[at_c + offsets[tile_d] + winner]  # the table is from Team 0's side
                    best_d = min(best_d, value + (gain if (winner - leader) & 1 == 0 else -gain))
                best_c = max(best_c, best_d)
            best_b = min(best_b, best_c)
        best_a = max(best_a, best_b)
    return side * best_a


@batch_kernel
def mark_trick(leader, held, slot, deal, offsets, table, levels, tricks):
    """Mark all positions that one trick from here can lead to, and count the states within the trick."""
    second, third, fourth = (leader + 1) & 3, (leader + 2) & 3, (leader + 3) & 3
    one, two, three, moves_a = 0, 0, 0, held[leader]
    while moves_a != 0:
        led = 7 * leader + int(_LOWEST[moves_a])
        moves_a &= moves_a - 1
        one += 1
        # what the later seats may play depends on the tile led alone
        moves_b = answers(held[second], deal.follow[led, second])
        moves_c = answers(held[third], deal.follow[led, third])
        moves_d = answers(held[fourth], deal.follow[led, fourth])
        while moves_b != 0:
            tile_b = 7 * second + int(_LOWEST[moves_b])
            moves_b &= moves_b - 1
            two += 1
            top_b, owner_b = deal.able[led, led], leader
            if deal.able[led, tile_b] > top_b:
                top_b, owner_b = deal.able[led, tile_b], second
            rest_c = moves_c
            while rest_c != 0:
                tile_c = 7 * third + int(_LOWEST[rest_c])
                rest_c &= rest_c - 1
                three += 1
                top_c, owner_c = top_b, owner_b
                if deal.able[led, tile_c] > top_c:
                    top_c, owner_c = deal.able[led, tile_c], third
                at = slot + offsets[led] + offsets[tile_b] + offsets[tile_c]
                rest_d = moves_d
                while rest_d != 0:
                    tile_d = 7 * fourth + int(_LOWEST[rest_d])
                    rest_d &= rest_d - 1
                    winner = fourth if deal.able[led, tile_d] > top_c else owner_c
                    # a mark until values are written: no value is above 42
                    table[at + offsets[tile_d] + winner] = REACHED
    # 4 * tricks tiles are left between tricks, and one less after each tile
    levels[4 * tricks - 1] += one
    levels[4 * tricks - 2] += two
    levels[4 * tricks - 3] += three


@batch_kernel
def subsets_of_size(tricks, out):
    """out[r]: the r-th of the 7-bit masks with `tricks` bits."""
    count = 0
    for mask in range(128):
        bits = 0
        for local in range(7):
            bits += (mask >> local) & 1
        if bits == tricks:
            out[count] = mask
            count += 1
    return count


@batch_kernel
def sweep(forward, tricks, deal, slots, table, levels, subsets, held, given, offsets):
    """With `tricks` left: mark what follows the reached positions (forward), or write their values."""
    # in ascending order, which is the numbering of `slots.number`
    size = subsets_of_size(tricks, subsets)
    at = slots.base[tricks]
    for r3 in range(size):
        for r2 in range(size):
            for r1 in range(size):
                for r0 in range(size):
                    slot, ready = 0, False
                    for leader in range(4):
                        if table[at + leader] == UNREACHED:
                            continue
                        # few slots are reached, and only their hands are decoded
                        if not ready:
                            held[0], held[1], held[2], held[3] = subsets[r0], subsets[r1], subsets[r2], subsets[r3]
                            slot, ready = set_offsets(held, tricks, slots, offsets), True
                        if forward:
                            levels[4 * tricks] += 1
                            mark_trick(leader, held, slot, deal, offsets, table, levels, tricks)
                        else:
                            # needs the values with one trick less
                            table[at + leader] = best_of_trick(leader, held, given, slot, deal, offsets, table)
                    at += 4


@batch_kernel
def look_up(packed, deal, slots, table, held, given, offsets, q):
    """V of a state of 41 bits, by at most one trick of search; q [7] by the mover's local indices, -128 where it may not play."""
    # bits 28-29 leader, 30-31 tiles that lie, then three bits for the local index of each
    leader, length = (packed >> 28) & 3, (packed >> 30) & 3
    for seat in range(4):
        held[seat], given[seat] = (packed >> (7 * seat)) & 127, 0
    led = 0
    for place in range(length):  # the trick is played anew
        seat, local = (leader + place) & 3, (packed >> (32 + 3 * place)) & 7
        # the tile returns to its hand, which then has no other choice
        held[seat] |= 1 << local
        given[place] = 1 << local
        led = 7 * seat + local if place == 0 else led
    q[:] = UNREACHED
    mover = (leader + length) & 3
    if held[mover] == 0:
        return 0
    tricks = 0
    for local in range(7):
        tricks += (held[mover] >> local) & 1
    slot = set_offsets(held, tricks, slots, offsets)
    moves = held[mover] if length == 0 else answers(held[mover], deal.follow[led, mover])
    best = 99 if mover & 1 else -99
    for local in range(7):
        if (moves >> local) & 1:
            given[length] = 1 << local
            q[local] = best_of_trick(leader, held, given, slot, deal, offsets, table)
            best = min(best, q[local]) if mover & 1 else max(best, q[local])
    return best


@batch_kernel
def look_up_rows(states, deal, slots, table, held, given, offsets, values, q):
    """values[k] and q[k, 7] of states[k]."""
    for k in range(states.shape[0]):
        values[k] = look_up(states[k], deal, slots, table, held, given, offsets, q[k])


@cached_batch_kernel
def list_positions(table, slots, subsets, hands, leaders):
    """Fill hands (28 bits, seat 0 lowest) and leaders with all reached positions between tricks; returns their number."""
    count = 0
    for tricks in range(8):
        size, at = subsets_of_size(tricks, subsets), slots.base[tricks]
        for r3 in range(size):
            for r2 in range(size):
                for r1 in range(size):
                    for r0 in range(size):
                        for leader in range(4):
                            if table[at + leader] == UNREACHED:
                                continue
                            hands[count] = subsets[r0] | subsets[r1] << 7 | subsets[r2] << 14 | subsets[r3] << 21
                            leaders[count] = leader
                            count += 1
                        at += 4
    return count


@cached_batch_kernel
def list_states(hands, leader, first, second, third, follow, out):
    """Fill `out` with the states that follow when the tiles with these local indices (7: none) are played; returns their number.

    hands: positions before the trick in which `leader` holds the first tile; ascending, and then so are the states.
    follow: as in `tabulate.py`.
    """
    a, b, c = leader, (leader + 1) & 3, (leader + 2) & 3
    led, length, gone = 7 * leader + first, 0, 0
    if first != NO_TILE:
        length, gone = 1, gone | 1 << led
    if second != NO_TILE:
        length, gone = 2, gone | 1 << (7 * b + second)
    if third != NO_TILE:
        length, gone = 3, gone | 1 << (7 * c + third)
    trick, count = leader << 28 | length << 30 | first << 32 | second << 35 | third << 38, 0
    for k in range(hands.shape[0]):
        held = int(hands[k])
        # the hands must have held the tiles that lie, and the rules have allowed to play them
        if length > 0 and (held >> (7 * a + first)) & 1 == 0:
            continue
        if length > 1 and (answers((held >> 7 * b) & 127, follow[led, b]) >> second) & 1 == 0:
            continue
        if length > 2 and (answers((held >> 7 * c) & 127, follow[led, c]) >> third) & 1 == 0:
            continue
        out[count] = (held & ~gone) | trick
        count += 1
    return count
