"""Kernels on masks of tiles: how many there are, which have been played, the place of a single one and what it counts."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np

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


# The factor is a de Bruijn sequence: shifted by any of the 32 places, its upper five bits differ. No loop, and no
# intrinsic that the CPU and CUDA would not share.
_DE_BRUIJN = np.zeros(32, np.int32)
for _k in range(32):
    _DE_BRUIJN[((1 << _k) * 0x077CB531 & 0xFFFFFFFF) >> 27] = _k


@kernel
def index_of(bit):
    """Number of the only bit in `bit` (below 2**32)."""
    return int(_DE_BRUIJN[((bit * 0x077CB531) & 0xFFFFFFFF) >> 27])


@kernel
def count_of(bit, fives, tens):
    """Points that one tile counts."""
    return 10 if bit & tens else 5 if bit & fives else 0
