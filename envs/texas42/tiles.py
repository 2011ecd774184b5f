"""Tiles, suits and declarations of Texas 42, and the tables that the kernels read.

Tile h-l (h >= l) has the id h(h+1)/2 + l: 0-0 is 0, 1-0 is 1, 1-1 is 2, ... 6-6 is 27. A set of tiles is a mask of 28 bits.
Suits 0..6 are pips; 7 is the called suit: the tiles with the trump pip, or the doubles where they are a suit.
"""

from __future__ import annotations

import numpy as np

from ludory.errors import OptionError

TILES, SUITS, CALLED = 28, 8, 7
ALL_TILES = (1 << TILES) - 1

# Declarations: 0..6 are pip trumps.
DOUBLES, DOUBLES_SUIT, FOLLOW_ME, NELLO_HIGH, NELLO_SUIT, NELLO_LOW, SEVENS = 7, 8, 9, 10, 11, 12, 13
SUIT_NAMES = ("blanks", "aces", "deuces", "treys", "fours", "fives", "sixes")
_OTHERS = ("doubles", "doubles suit", "follow me", "nello high", "nello suit", "nello low", "sevens")
DECLARATIONS = (*SUIT_NAMES, *_OTHERS)
"""Name of each declaration."""
STRAIGHT = (0, 1, 2, 3, 4, 5, 6, 7, 9)
"""The declarations of straight 42."""

HIGH = tuple(high for high in range(7) for low in range(high + 1))
"""The higher pip of each tile."""
LOW = tuple(low for high in range(7) for low in range(high + 1))
"""The lower pip of each tile."""
TILE_NAMES = tuple(f"{high}-{low}" for high, low in zip(HIGH, LOW, strict=True))
"""`6-4`: the name of each tile."""


def is_called(decl: int, tile: int) -> bool:
    """Whether `tile` belongs to the called suit, and therefore to no other."""
    if decl < DOUBLES:
        return decl in (HIGH[tile], LOW[tile])
    return decl == SEVENS or (decl in (DOUBLES, DOUBLES_SUIT, NELLO_SUIT) and HIGH[tile] == LOW[tile])


def led_suit(decl: int, tile: int) -> int:
    """The suit that `tile` leads."""
    return CALLED if is_called(decl, tile) else HIGH[tile]


def in_suit(decl: int, suit: int, tile: int) -> bool:
    """Whether `tile` follows `suit`."""
    called = is_called(decl, tile)
    return called if suit == CALLED else not called and suit in (HIGH[tile], LOW[tile])


def rank(decl: int, suit: int, tile: int) -> int:
    """Strength of `tile` if `suit` is led: the highest wins, the first played among equals; 0 cannot win."""
    pips, double = HIGH[tile] + LOW[tile], HIGH[tile] == LOW[tile]
    if decl == SEVENS:
        return 8 - abs(pips - 7)
    if decl <= DOUBLES and is_called(decl, tile):
        return 33 + (HIGH[tile] if decl == DOUBLES else 14 if double else pips)
    if not in_suit(decl, suit, tile):
        return 0
    if suit == CALLED:
        return 1 + HIGH[tile]
    if decl == NELLO_LOW:
        return 1 if double else 2 + pips
    return 1 + (14 if double else pips)


def mask_of(tiles: object) -> int:
    """The mask of an iterable of tile ids."""
    mask = 0
    for tile in tiles:  # type: ignore[attr-defined]
        mask |= 1 << int(tile)
    return mask


def tiles_of(mask: int) -> list[int]:
    """The tile ids in a mask, ascending."""
    return [tile for tile in range(TILES) if mask >> tile & 1]


def parse_tile(text: str) -> int:
    """The id of "6-4", "4-6" or "64".

    Raises:
        OptionError: `text` names no tile.
    """
    pips = text.strip().replace("-", "")
    if len(pips) == 2 and pips.isdecimal() and max(pips) <= "6":
        low, high = sorted(map(int, pips))
        return high * (high + 1) // 2 + low
    raise OptionError(f"{text!r} is no domino: type two pips from 0 to 6, such as 6-4")


_ALL = range(TILES)
_DECLS = range(len(DECLARATIONS))

COUNT = np.array([{10: 10, 5: 5}.get(HIGH[t] + LOW[t], 0) for t in _ALL], np.int8)
"""int8 [28]: 5-5 and 6-4 count 10; 5-0, 4-1 and 3-2 count 5."""
LED = np.array([[led_suit(d, t) for t in _ALL] for d in _DECLS], np.int8)
"""int8 [declaration, tile]: the suit that a tile leads."""
FOLLOW = np.array([[mask_of(t for t in _ALL if in_suit(d, s, t)) for s in range(SUITS)] for d in _DECLS], np.int32)
"""int32 [declaration, suit]: mask of the tiles that follow a suit."""
RANK = np.array([[[rank(d, s, t) for t in _ALL] for s in range(SUITS)] for d in _DECLS], np.int8)
"""int8 [declaration, led suit, tile]: strength in a trick, 0 cannot win."""

DOUBLE_TILES = mask_of(t for t in _ALL if HIGH[t] == LOW[t])
"""Mask of the seven doubles."""
NEARER = np.array([mask_of(t for t in _ALL if abs(HIGH[t] + LOW[t] - 7) < d) for d in range(9)], np.int32)
"""int32 [9]: mask of the tiles less than d away from seven pips."""
COUNTING = tuple(t for t in _ALL if COUNT[t])
"""The five tiles that count."""
POINTS = 42
"""Of a hand: one for each trick, and those of the tiles that count."""
