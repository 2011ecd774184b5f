"""How likely a hand declares what it did: a guess from the tiles that a bidder looks at."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np

from ludory.agents.texas42.play.tile_features import BEATERS, FIVES, TENS
from ludory.envs.kernels import kernel
from ludory.envs.texas42.bits import size
from ludory.envs.texas42.tiles import CALLED, DOUBLE_TILES, DOUBLES, FOLLOW, LED, STRAIGHT, TILES

CUES = 12
"""Number of cues of a declaration."""
_DECLS = np.array(STRAIGHT, np.int64)


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
    x[10] = size(hand & ~trumps & FIVES) + 2 * size(hand & ~trumps & TENS)
    x[11] = size(hand & DOUBLE_TILES & ~trumps)


def features_of(hand: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
    """Cues (9, CUES) of all declarations of straight 42."""
    x = np.zeros((len(STRAIGHT), CUES), np.int32)
    for k, decl in enumerate(STRAIGHT):
        describe_declaration(hand, decl, x[k])
    return x
