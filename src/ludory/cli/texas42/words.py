"""Hands, declarations and ranges of seeds, as they are typed."""

from __future__ import annotations

from typing import Annotated, Literal

from ludory.arguments import Arg
from ludory.errors import OptionError


def declaration(text: str) -> int:
    """6 for "sixes" or "6": one of the ten declarations that are played for points.

    Raises:
        OptionError: there is no such declaration.
    """
    from ludory.envs.texas42.tiles import DECLARATIONS, NELLO_HIGH  # compiles: --help must not wait for it

    names = DECLARATIONS[:NELLO_HIGH]
    name = text.strip().lower().replace("-", " ")
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    if name in names:
        return names.index(name)
    raise OptionError(f"declaration {text!r}: must be 0..{len(names) - 1} or one of {', '.join(names)}")


def declaration_or_random(text: str) -> int | Literal["random"]:
    """As `declaration`, or "random".

    Raises:
        OptionError: there is no such declaration.
    """
    if text.strip().lower() == "random":
        return "random"
    try:
        return declaration(text)
    except OptionError as error:
        raise OptionError(f"{error}, or random") from error


def hand(text: str) -> tuple[int, ...]:
    """Seven tile ids, ascending, from "6-4,5-5,4-2,3-1,2-0,1-1,0-0".

    Raises:
        OptionError: these are not seven different tiles.
    """
    from ludory.envs.texas42.tiles import parse_tile

    tiles = sorted({parse_tile(part) for part in text.split(",")})
    if len(tiles) != 7 or text.count(",") != 6:
        raise OptionError(f"hand {text!r}: must be seven different tiles, such as 6-4,5-5,4-2,3-1,2-0,1-1,0-0")
    return tuple(tiles)


def seeds(text: str) -> range:
    """The seeds 0..99 for "0-99", 7 for "7".

    Raises:
        OptionError: this is no such range.
    """
    first, dash, last = text.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else not last):
        found = range(int(first), int(last or first) + 1)
        if found:
            return found
        raise OptionError(f"seeds {text!r}: {first} is above {last}; the smaller seed comes first")
    raise OptionError(f"seeds {text!r}: must be a seed, such as 7, or a range, such as 0-99")


Decl = Annotated[int, Arg("DECL", read=declaration)]
DeclOrRandom = Annotated[int | Literal["random"], Arg("DECL", read=declaration_or_random)]
Hand = Annotated[tuple[int, ...], Arg("TILES", read=hand)]
Seeds = Annotated[range, Arg("N[-M]", read=seeds)]
