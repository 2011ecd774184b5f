"""How jobs of Texas 42 read tiles, hands and declarations from the command line."""

from __future__ import annotations

import argparse

from ludory.envs.texas42.tiles import DECLARATIONS, NELLO_HIGH, parse_tile
from ludory.errors import OptionError

RANDOM = "random"


def declaration(text: str) -> int:
    """6 for "sixes" or "6": one of the ten declarations that are played for points.

    Raises:
        argparse.ArgumentTypeError: there is no such declaration.
    """
    names = DECLARATIONS[:NELLO_HIGH]
    name = text.strip().lower().replace("-", " ")
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    if name in names:
        return names.index(name)
    raise argparse.ArgumentTypeError(f"{text!r}: must be 0..{len(names) - 1} or one of {', '.join(names)}")


def declaration_or_random(text: str) -> int | str:
    """As `declaration`, or "random".

    Raises:
        argparse.ArgumentTypeError: there is no such declaration.
    """
    if text.strip().lower() == RANDOM:
        return RANDOM
    try:
        return declaration(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or {RANDOM}") from error


def hand(text: str) -> tuple[int, ...]:
    """Seven tile ids, ascending, from "6-4,5-5,4-2,3-1,2-0,1-1,0-0".

    Raises:
        argparse.ArgumentTypeError: these are not seven different tiles.
    """
    try:
        tiles = sorted({parse_tile(part) for part in text.split(",")})
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if len(tiles) != 7 or text.count(",") != 6:
        raise argparse.ArgumentTypeError(
            f"{text!r}: a hand has seven different tiles, such as 6-4,5-5,4-2,3-1,2-0,1-1,0-0"
        )
    return tuple(tiles)


def seeds(text: str) -> range:
    """The seeds 0..99 for "0-99", 7 for "7".

    Raises:
        argparse.ArgumentTypeError: this is no such range.
    """
    first, dash, last = text.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else not last):
        found = range(int(first), int(last or first) + 1)
        if found:
            return found
        raise argparse.ArgumentTypeError(f"{text!r}: {first} is above {last}; the smaller seed comes first")
    raise argparse.ArgumentTypeError(f"{text!r}: must be a seed, such as 7, or a range, such as 0-99")
