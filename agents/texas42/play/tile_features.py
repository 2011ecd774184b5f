"""What a seat sees of a tile that it may play, as a few small integers: the input of the quick policy."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import numpy as np

from ludory.envs import kernel
from ludory.envs.texas42.bits import played_tiles, size
from ludory.envs.texas42.tiles import (
    ALL_TILES,
    CALLED,
    COUNT,
    DECLARATIONS,
    DOUBLE_TILES,
    FOLLOW,
    LED,
    LOW,
    RANK,
    SUITS,
    TILES,
)
from ludory.envs.texas42.trick import suit_led, trick_points, trick_winner

FEATURES, FEWER = 64, 48
"""How many there are, in the order of `FEATURE_NAMES`; policies that were trained earlier know the first `FEWER` only."""

OWN = np.array([*range(16, 24), *range(26, 35), 41, 42, 44, *range(48, 55)], np.int32)
"""Those that differ between the tiles of a choice."""
SHARED = np.array([k for k in range(FEATURES) if k not in OWN], np.int32)
"""Those that all tiles of a choice have in common."""
BEATERS = np.array(
    [
        [
            [sum(1 << x for x in range(TILES) if RANK[d, s, x] > RANK[d, s, t]) for t in range(TILES)]
            for s in range(SUITS)
        ]
        for d in range(len(DECLARATIONS))
    ],
    np.int32,
)
"""int32 [declaration, led suit, tile]: mask of the tiles that are stronger in such a trick."""
LOW_SUIT = np.array(LOW, np.int32)
"""int32 [tile]: the suit of its lower pip."""
FIVES = sum(1 << tile for tile in range(TILES) if COUNT[tile] == 5)
TENS = sum(1 << tile for tile in range(TILES) if COUNT[tile] == 10)

FEATURE_NAMES = (
    "one", "leads", "plays second", "plays third", "plays last", "side has the contract", "is the bidder", "tricks left",
    "own trumps", "unseen trumps", "points lying", "points needed", "points to spare", "no trumps", "doubles are trumps",
    "tiles to choose from", "counts, in fives", "trump", "double", "wins so far", "opponents to come who may beat it",
    "unseen tiles of theirs that beat it", "trumps among these", "sure to win", "partner wins so far", "partner sure to win",
    "follows", "own others of its suit", "unseen of its suit", "unseen of its suit that beat it", "highest of its suit",
    "fives unseen in its suit", "partner is out of its suit", "left is out of its suit", "right is out of its suit",
    "opponents may hold trumps", "partner may hold trumps", "opponent wins so far", "own highest tiles",
    "partner to come may beat all lying", "partner to come", "winning this makes the bid", "losing this breaks it",
    "holds the highest trump", "own tiles of lower id", "own counts, in fives", "unseen counts, in fives", "left may hold trumps",
    "partner to come may beat it", "left may trump it", "right may trump it", "own others of its low suit",
    "unseen of its low suit", "unseen of its low suit that beat it", "own weaker ones of its suit", "trumps that left may hold",
    "trumps that partner may hold", "trumps that right may hold", "suits that left is out of", "suits that partner is out of",
    "suits that right is out of", "own losing tiles", "own counts on losing tiles, in fives", "trumped so far",
)  # fmt: skip


@kernel
def _to_come(place, left, right):
    """Mask of what the opponents who play after this may hold; left, right: what each may hold."""
    tiles = 0
    tiles |= left if place < 3 else 0
    tiles |= right if place < 1 else 0
    return tiles


@kernel
def _fives(tiles):
    """Counts of a set of tiles, in fives."""
    return size(tiles & FIVES) + 2 * size(tiles & TENS)


@kernel
def _holds_top(decl, own, unseen):
    """Whether one of the trumps `own` cannot be beaten by an unseen one."""
    tops = 0
    for tile in range(28):
        tops += (own >> tile) & 1 if int(BEATERS[decl, CALLED, tile]) & unseen == 0 else 0
    return tops > 0


@kernel
def _suits_without(decl, tiles, unseen):
    """Number of the plain suits with unseen tiles of which `tiles` has none."""
    count = 0
    for suit in range(7):
        mates = int(FOLLOW[decl, suit]) & unseen
        count += 1 if mates != 0 and mates & tiles == 0 else 0
    return count


@kernel
def _may_hold(state, i, seat, unseen):
    """Mask of the tiles that another seat may hold, 0 if it holds none."""
    return unseen & ~int(state.cannot[i, seat]) if int(state.held[i, seat]) != 0 else 0


@kernel
def describe_tile(state, i, seat, tile, x):
    """Write the features of `tile`, which `seat`, to move in game i, may play; x: integers [FEATURES].

    Read are the public facts and the seat's own hand.
    """
    describe_choice(state, i, seat, x, True)
    describe_option(state, i, seat, tile, x, True)


@kernel
def describe_choice(state, i, seat, x, every):
    """Write what all tiles that `seat` may play have in common, the features `SHARED`; if not `every`, those of the first `FEWER`."""
    decl, place, hand = int(state.decl[i]), int(state.trick_len[i]), int(state.held[i, seat])
    bidder = int(state.bidder[i])
    unseen = ALL_TILES & ~played_tiles(state, i) & ~hand
    left = _may_hold(state, i, (seat + 1) & 3, unseen)
    partner = _may_hold(state, i, (seat + 2) & 3, unseen)
    right = _may_hold(state, i, (seat + 3) & 3, unseen)
    trumps = int(FOLLOW[decl, CALLED]) if decl <= CALLED else 0
    suit = suit_led(state, i)
    leads = suit < 0
    winner, lying, lying_beaters = -1, 0, ALL_TILES
    if not leads:
        winner = trick_winner(state, i)
        lying = int(state.trick[i, (winner - int(state.leader[i])) & 3])
        lying_beaters = int(BEATERS[decl, suit, lying])
    mate_wins = winner == (seat + 2) & 3
    # tiles that an unseen one of their suit beats
    losing = 0
    for other in range(28):
        led = int(LED[decl, other])
        if (hand >> other) & 1 and int(BEATERS[decl, led, other]) & int(FOLLOW[decl, led]) & unseen != 0:
            losing |= 1 << other
    bank = int(state.points[i, bidder & 1])
    # of a bid of marks all 42
    need = max(min(int(state.bid[i]), 42) - bank, 0)
    following = hand if leads else hand & int(FOLLOW[decl, suit])
    x[0] = 1
    x[1] = 1 if place == 0 else 0
    x[2] = 1 if place == 1 else 0
    x[3] = 1 if place == 2 else 0
    x[4] = 1 if place == 3 else 0
    x[5] = 1 if (seat - bidder) & 1 == 0 else 0
    x[6] = 1 if seat == bidder else 0
    x[7] = size(hand)
    x[8] = size(hand & trumps)
    x[9] = size(unseen & trumps)
    x[10] = 0 if leads else trick_points(state, i)
    x[11] = need
    x[12] = 42 - int(state.points[i, 0]) - int(state.points[i, 1]) - need
    x[13] = 1 if trumps == 0 else 0
    x[14] = 1 if decl == CALLED else 0
    x[15] = size(following if following != 0 else hand)
    x[24] = 1 if mate_wins else 0
    x[25] = 1 if mate_wins and _to_come(place, left, right) & lying_beaters == 0 else 0
    x[35] = 1 if (left | right) & trumps != 0 else 0
    x[36] = 1 if partner & trumps != 0 else 0
    x[37] = 1 if winner >= 0 and not mate_wins else 0
    x[38] = size(hand & ~losing)
    x[39] = 1 if place < 2 and partner & lying_beaters != 0 and not leads else 0
    x[40] = 1 if place < 2 else 0
    x[43] = 1 if _holds_top(decl, hand & trumps, unseen & trumps) else 0
    x[45] = _fives(hand)
    x[46] = _fives(unseen)
    x[47] = 1 if left & trumps != 0 else 0
    if not every:
        return
    x[55] = size(left & trumps)
    x[56] = size(partner & trumps)
    x[57] = size(right & trumps)
    x[58] = _suits_without(decl, left, unseen)
    x[59] = _suits_without(decl, partner, unseen)
    x[60] = _suits_without(decl, right, unseen)
    x[61] = size(losing)
    x[62] = _fives(losing)
    x[63] = 1 if winner >= 0 and suit != CALLED and (trumps >> lying) & 1 else 0


@kernel
def describe_option(state, i, seat, tile, x, every):
    """Write what sets `tile` apart, the features `OWN`, into x where `describe_choice` has written the others."""
    decl, place, hand, bit = int(state.decl[i]), int(state.trick_len[i]), int(state.held[i, seat]), 1 << tile
    unseen = ALL_TILES & ~played_tiles(state, i) & ~hand
    left = _may_hold(state, i, (seat + 1) & 3, unseen)
    partner = _may_hold(state, i, (seat + 2) & 3, unseen)
    right = _may_hold(state, i, (seat + 3) & 3, unseen)
    trumps = int(FOLLOW[decl, CALLED]) if decl <= CALLED else 0
    own_suit = int(LED[decl, tile])
    suit = suit_led(state, i)
    leads = suit < 0
    suit = own_suit if leads else suit
    mates, higher = int(FOLLOW[decl, own_suit]), int(BEATERS[decl, own_suit, tile])
    beaters = int(BEATERS[decl, suit, tile])
    lying_beaters = ALL_TILES
    if not leads:
        ahead = (trick_winner(state, i) - int(state.leader[i])) & 3
        lying_beaters = int(BEATERS[decl, suit, int(state.trick[i, ahead])])
    theirs = _to_come(place, left, right)
    able = (1 if place < 3 and left & beaters != 0 else 0) + (1 if place < 1 and right & beaters != 0 else 0)
    wins = leads or (lying_beaters >> tile) & 1 == 1
    # a trick counts a point by itself
    worth = max(int(x[10]), 1) + int(COUNT[tile])
    x[16] = int(COUNT[tile]) // 5
    x[17] = 1 if trumps & bit != 0 else 0
    x[18] = 1 if DOUBLE_TILES & bit != 0 else 0
    x[19] = 1 if wins else 0
    x[20] = able
    x[21] = size(theirs & beaters)
    x[22] = size(theirs & beaters & trumps)
    x[23] = 1 if wins and able == 0 else 0
    x[26] = 1 if int(FOLLOW[decl, suit]) & bit != 0 else 0
    x[27] = size(hand & mates) - 1
    x[28] = size(unseen & mates)
    x[29] = size(unseen & mates & higher)
    x[30] = 1 if unseen & mates & higher == 0 else 0
    x[31] = _fives(unseen & mates)
    x[32] = 1 if partner & mates == 0 else 0
    x[33] = 1 if left & mates == 0 else 0
    x[34] = 1 if right & mates == 0 else 0
    x[41] = 1 if int(x[11]) <= worth else 0
    x[42] = 1 if int(x[12]) < worth else 0
    x[44] = size(hand & (bit - 1))
    if not every:
        return
    x[48] = 1 if place < 2 and partner & beaters != 0 else 0
    x[49] = 1 if place < 3 and left & beaters & trumps != 0 and left & mates == 0 else 0
    x[50] = 1 if place < 1 and right & beaters & trumps != 0 and right & mates == 0 else 0
    # a double has no other pip, and a trump follows only its own suit
    other_suit = int(LOW_SUIT[tile]) if trumps & bit == 0 and DOUBLE_TILES & bit == 0 else -1
    low = int(FOLLOW[decl, other_suit]) if other_suit >= 0 else 0
    x[51] = size(hand & low) - 1 if low != 0 else 0
    x[52] = size(unseen & low)
    x[53] = size(unseen & low & int(BEATERS[decl, other_suit, tile])) if low != 0 else 0
    x[54] = size(hand & mates & ~higher) - 1
