"""Cues: what a bidder counts in its hand under a declaration."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.play.tile_features import BEATERS, FIVES, TENS
from ludory.envs import kernel
from ludory.envs.texas42.bits import size
from ludory.envs.texas42.tiles import CALLED, COUNT, DOUBLE_TILES, DOUBLES, FOLLOW, LED, RANK, STRAIGHT, TILES, tiles_of

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
"""Names of the cues, in order."""
KINDS = ("pip", "doubles", "follow me")
"""Kinds of declaration; each has its own weight for every cue."""
INPUTS = len(KINDS) * (len(NAMES) + 1)


def cues(hand: int, decl: int) -> NDArray[np.float64]:
    """(9,) cues of a mask of seven tiles under a declaration of straight 42."""
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
    # of fewer than three trumps the lowest; without trumps all three are missing
    third = sorted(tiles_of(own), key=lambda tile: -int(RANK[decl, CALLED, tile]))[:3]
    missing = (_stronger(decl, third[-1]) & trumps & ~hand).bit_count() if third else 3
    empty = sum(1 for suit in range(7) if not hand & ~trumps & int(FOLLOW[decl, suit]))
    number = own.bit_count()
    return np.array([number, max(0, number - 4), top, missing, sure, backed, losing, risk / 5, empty], np.float64)


def _stronger(decl: int, tile: int) -> int:
    """Mask of the tiles that beat `tile` where it is led."""
    return int(BEATERS[decl, LED[decl, tile], tile])


def kind(decl: int) -> int:
    """Index in `KINDS`."""
    return 0 if decl < DOUBLES else 1 if decl == DOUBLES else 2


def inputs(hand: int, decl: int) -> NDArray[np.float64]:
    """(30,): for each kind a one and the cues, all 0 except for the declaration's own kind."""
    wide = np.zeros((len(KINDS), len(NAMES) + 1))
    wide[kind(decl)] = [1.0, *cues(hand, decl)]
    return wide.ravel()


CUES = 12
"""Number of cues of a declaration."""


@kernel
def describe_declaration(hand, decl, x):
    """Write the cues of declaring `decl` with the hand (a mask of seven tiles); x: integers [CUES]."""
    trumps = int(FOLLOW[decl, CALLED]) if decl <= DOUBLES else 0
    own = hand & trumps
    tops, winners, backed = 0, 0, 0  # trumps that nothing beats; other tiles that only trumps beat
    for tile in range(TILES):
        if (hand >> tile) & 1 == 0:
            continue
        suit = int(LED[decl, tile])
        stronger = int(BEATERS[decl, suit, tile])
        if (trumps >> tile) & 1:
            tops += 1 if stronger & ~hand == 0 else 0
            backed += 1 if size(stronger & ~hand) == 1 else 0
        else:
            winners += 1 if stronger & int(FOLLOW[decl, suit]) & ~hand == 0 else 0
    number = size(own)
    x[0] = number
    x[1] = 1 if number >= 3 else 0
    x[2] = 1 if number >= 4 else 0
    x[3] = 1 if number >= 5 else 0
    x[4] = tops
    x[5] = backed
    x[6] = winners
    x[7] = 1 if decl == DOUBLES else 0
    x[8] = 1 if trumps == 0 else 0
    x[9] = winners if trumps == 0 else 0
    # counts outside the trumps, in fives
    x[10] = size(hand & ~trumps & FIVES) + 2 * size(hand & ~trumps & TENS)
    x[11] = size(hand & DOUBLE_TILES & ~trumps)


def features_of(hand: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Cues (9, CUES) of all declarations of straight 42."""
    x = np.zeros((len(STRAIGHT), CUES), np.int32)
    for k, decl in enumerate(STRAIGHT):
        describe_declaration(hand, decl, x[k])
    return x
