"""Tiles renumbered by strength, so that the solver can compare tiles as integers.

For a declaration, place[tile] is 0..27 such that within every suit, the called one included, a stronger tile has a higher place,
and every trump a higher place than any other tile. The winner of a trick is then the highest place among the tiles that can win.
Under sevens tiles equally near to seven pips are equal: of those the first played wins.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.texas42.tiles import (
    CALLED,
    COUNT,
    DOUBLES,
    FOLLOW,
    HIGH,
    LED,
    LOW,
    NELLO_LOW,
    SEVENS,
    TILES,
    in_suit,
    is_called,
    mask_of,
)

Ints = NDArray[np.int32]


class Strength(NamedTuple):
    """One declaration in places; masks are of places."""

    place: Ints
    """[28]: place of each tile."""
    tile: Ints
    """[28]: tile at each place."""
    follows: Ints
    """[28]: by the place of the tile led, the mask of the tiles that follow it."""
    wins: Ints
    """[28]: by the place of the tile led, the mask of the tiles that can win."""
    counts: Ints
    """[2]: masks of the tiles that count five, and ten."""
    level: Ints
    """[28]: by place, the mask of the tiles that do not beat it though their place is higher; 0 but for sevens."""


def _order(decl: int) -> list[int]:
    """Tiles from weak to strong."""

    def strength(tile: int) -> tuple[int, int]:
        pips, double = HIGH[tile] + LOW[tile], HIGH[tile] == LOW[tile]
        if decl == SEVENS:
            return 0, -abs(pips - 7)
        trump = decl <= DOUBLES and is_called(decl, tile)
        bottom = decl == NELLO_LOW and double
        return (
            2 if trump else 0 if not double else -1 if bottom else 1,
            99 if trump and double and decl < DOUBLES else pips,
        )

    return sorted(range(TILES), key=strength)


@cache
def strength_of(decl: int) -> Strength:
    """The tables of a declaration."""
    order = _order(decl)
    place = np.argsort(order).astype(np.int32)

    def mask(tiles: list[int]) -> int:
        return mask_of(place[tile] for tile in tiles)

    trumps = [tile for tile in range(TILES) if decl <= DOUBLES and is_called(decl, tile)]
    suits = [[tile for tile in range(TILES) if in_suit(decl, suit, tile)] for suit in range(CALLED + 1)]
    assert all(mask_of(suit) == FOLLOW[decl, k] for k, suit in enumerate(suits))
    follows = [mask(suits[LED[decl, tile]]) for tile in order]
    wins = [mask([*suits[LED[decl, tile]], *trumps]) for tile in order]
    level = [0] * TILES
    if decl == SEVENS:
        for tile in order:
            equals = [other for other in range(TILES) if HIGH[other] + LOW[other] in _as_near(tile)]
            level[place[tile]] = mask(equals) & ~((2 << int(place[tile])) - 1)
    counts = [mask([tile for tile in range(TILES) if COUNT[tile] == points]) for points in (5, 10)]
    return Strength(place, *(np.array(part, np.int32) for part in (order, follows, wins, counts, level)))


def _as_near(tile: int) -> tuple[int, int]:
    """Sums of pips as near to seven as the tile's."""
    distance = abs(HIGH[tile] + LOW[tile] - 7)
    return 7 - distance, 7 + distance
