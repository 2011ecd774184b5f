"""The simplest bidding: 30 if nobody has bid, and the pip held most often as trumps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs.texas42.state import BID_30, DECLARE_0, PASS
from ludory.envs.texas42.tiles import FOLLOW


def bid_thirty(mask: NDArray[np.bool_], hand: int) -> int:
    """Action id before the play, from the legal mask (64,) and the mask of the own tiles.

    30 if nobody has bid, else pass; declared is the pip of which the hand holds most tiles, of equals the highest.
    """
    if mask[DECLARE_0]:
        held = [(int(FOLLOW[pip, 7]) & hand).bit_count() for pip in range(7)]
        return DECLARE_0 + max(range(7), key=lambda pip: (held[pip], pip))
    return BID_30 if mask[BID_30] else PASS
