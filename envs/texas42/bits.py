"""Kernels that count tiles in masks."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel


@kernel
def size(mask):
    """Number of tiles in a mask (below 2**32)."""
    # counts of 2, 4 and 8 bits side by side, then one multiplication adds the four bytes
    mask -= (mask >> 1) & 0x55555555
    mask = (mask & 0x33333333) + ((mask >> 2) & 0x33333333)
    mask = (mask + (mask >> 4)) & 0x0F0F0F0F
    return ((mask * 0x01010101) & 0xFFFFFFFF) >> 24


@kernel
def played_tiles(state, i):
    """Mask of all tiles that have been played."""
    played = 0
    for seat in range(4):
        # hands only shrink, so what was dealt and is no longer held was played
        played |= int(state.dealt[i, seat]) & ~int(state.held[i, seat])
    return played
