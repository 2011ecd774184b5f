"""What a bidder counts in its hand under a declaration, as numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs.texas42.tiles import CALLED, COUNT, DOUBLES, FOLLOW, LED, RANK, TILES, tiles_of

NAMES = (
    "trumps",
    "trumps beyond four",
    "trumps on top",
    "trumps missing above the third held",
    "sure tiles beside trumps",
    "tiles beaten by one",
    "losing tiles",
    "counts that may be lost",
    "suits without a tile",
)
"""Of the numbers, in their order."""
KINDS = ("pip", "doubles", "follow me")
"""Kinds of declaration; each has a weight of its own for every number."""
INPUTS = len(KINDS) * (len(NAMES) + 1)


def cues(hand: int, decl: int) -> NDArray[np.float64]:
    """(9,) numbers about a mask of seven tiles under a declaration of straight 42."""
    trumps = int(FOLLOW[decl, CALLED]) if decl <= DOUBLES else 0
    own = hand & trumps
    sure = backed = losing = risk = top = 0
    for tile in tiles_of(hand):
        above = _stronger(decl, tile) & ~hand
        if own >> tile & 1:
            top += above == 0
            continue
        over = (above & ~trumps).bit_count()
        sure += over == 0
        backed += over == 1
        losing += over > 0
        risk += int(COUNT[tile]) * (over > 0)
    third = sorted(tiles_of(own), key=lambda tile: -int(RANK[decl, CALLED, tile]))[:3]
    missing = (_stronger(decl, third[-1]) & trumps & ~hand).bit_count() if third else 3
    empty = sum(1 for suit in range(7) if not hand & ~trumps & int(FOLLOW[decl, suit]))
    number = own.bit_count()
    return np.array([number, max(0, number - 4), top, missing, sure, backed, losing, risk / 5, empty], np.float64)


def _stronger(decl: int, tile: int) -> int:
    """Mask of the tiles that beat `tile` where it is led."""
    ranks = RANK[decl, int(LED[decl, tile])]
    return sum(1 << other for other in range(TILES) if ranks[other] > ranks[tile])


def kind(decl: int) -> int:
    """Index in `KINDS`."""
    return 0 if decl < DOUBLES else 1 if decl == DOUBLES else 2


def inputs(hand: int, decl: int) -> NDArray[np.float64]:
    """(30,): for each kind a one and the numbers, all 0 but for the declaration's own kind."""
    wide = np.zeros((len(KINDS), len(NAMES) + 1))
    wide[kind(decl)] = [1.0, *cues(hand, decl)]
    return wide.ravel()
