"""Kernels that list the states of a tabulation; see `tabulate.py` for tables and slots, `states.py` for the 41 bits."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.engine.binding.cached_kernel import cached_batch_kernel

from .states import NO_TILE
from .tabulate import UNREACHED, answers, subsets_of_size


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
        if length > 0 and (held >> (7 * a + first)) & 1 == 0:
            continue
        if length > 1 and (answers((held >> 7 * b) & 127, follow[led, b]) >> second) & 1 == 0:
            continue
        if length > 2 and (answers((held >> 7 * c) & 127, follow[led, c]) >> third) & 1 == 0:
            continue
        out[count] = (held & ~gone) | trick
        count += 1
    return count
