"""Single tiles of a mask: their place and what they count, as kernels."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np

from ludory.envs import kernel

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
