"""From tiles to what `search.py` searches: places by strength, and what a trick is worth under the contract."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.kernels import kernel
from ludory.envs.texas42.bits import size
from ludory.envs.texas42.tiles import NELLO_HIGH, NELLO_LOW, SEVENS

from .search import (
    BY_TRICKS,
    HIT_TEAM,
    HIT_VALUE,
    LAST_PLACE,
    NEAREST,
    OUT,
    P_ABLE,
    P_FOLLOW,
    P_LEFT,
    P_OWNER,
    P_PLACE,
    P_POINTS,
    P_REST,
    P_SEAT,
    P_TOP,
    P_TRICKS,
)
from .tile_bits import count_of, index_of


@kernel
def set_contract(contract, decl, bidder):
    """Points; or, under nello, tricks of the bidder, under sevens tricks of its opponents: what breaks the contract."""
    nello = NELLO_HIGH <= decl <= NELLO_LOW
    contract[LAST_PLACE] = 2 if nello else 3
    contract[OUT] = (bidder + 2) & 3 if nello else -1
    contract[BY_TRICKS] = nello or decl == SEVENS
    contract[HIT_TEAM] = bidder & 1 if nello else 1 - (bidder & 1)
    contract[HIT_VALUE] = -1 if bidder & 1 == 0 else 1
    contract[NEAREST] = decl == SEVENS


@kernel
def as_places(tiles, place):
    """A mask of tiles as a mask of places."""
    places = 0
    while tiles != 0:
        bit = tiles & -tiles
        tiles ^= bit
        places |= 1 << int(place[index_of(bit)])
    return places


@kernel
def set_up(held, leader, trick, decl, bidder, place, follows, wins, counts, level, hands, position, contract):
    """Fill `hands` [4], `position` [10] and `contract` [6].

    held [4]: masks of the tiles held, without those of the trick. trick [3]: tiles lying, in order, then -1.
    """
    set_contract(contract, decl, bidder)
    fives, tens, out = int(counts[0]), int(counts[1]), int(contract[OUT])
    left, points = 0, 0
    for seat in range(4):
        hands[seat] = as_places(int(held[seat]), place)
        if seat != out:
            left |= int(hands[seat])
    seat, top, owner, follow, able, number = leader, 0, leader, 0, 0, 0
    for k in range(3):
        if int(trick[k]) >= 0:
            at = int(place[int(trick[k])])
            bit = 1 << at
            if k == 0:
                follow, able = int(follows[at]), int(wins[at])
            if (bit & able) > top:
                top, owner = bit | int(level[at]), seat
            points += 1 if k == 0 else 0
            points += count_of(bit, fives, tens)
            number += 1
            seat = (seat + 1) & 3
            if seat == out:
                seat = (seat + 1) & 3
    tricks = size(int(hands[seat]))  # the seat to move has not played to this trick
    fives_left, tens_left = size(left & fives), size(left & tens)
    position[P_LEFT], position[P_SEAT], position[P_PLACE] = left, seat, number
    position[P_FOLLOW], position[P_ABLE] = follow, able
    position[P_TOP], position[P_OWNER], position[P_POINTS] = top, owner, points
    position[P_REST] = tricks + 5 * fives_left + 10 * tens_left + (points - 1 if number > 0 else 0)
    position[P_TRICKS] = tricks
