"""The formats of recorded games that are installed, and which of them a file is of."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from ludory.errors import DataError, LudoryError, PluginError
from ludory.plugins import formats

from .game_format import GameFormat


@cache
def known_formats() -> dict[str, GameFormat]:
    """All formats by id, without those of packages that are broken, which `ludory doctor` names."""
    found: dict[str, GameFormat] = {}
    for id in formats.ids():
        with suppress(PluginError):
            found[id] = formats.load(id)()
    return found


def formats_of(path: str | Path) -> list[GameFormat]:
    """The formats whose games a file or folder holds."""
    return [one for one in known_formats().values() if _holds(one, Path(path))]


def format_of(path: str | Path, among: Iterable[GameFormat]) -> GameFormat | None:
    """The first of some formats that a path is of, else the first whose files are called like it: it says what is wrong with them."""
    path, among = Path(path), list(among)
    held = (one for one in among if _holds(one, path))
    return next(held, next((one for one in among if one.is_named(path)), None))


def _holds(known: GameFormat, path: Path) -> bool:
    try:
        return known.holds(path)
    except (OSError, EOFError, ValueError, zlib.error, LudoryError):  # it cannot be read
        return False


def foreign_dataset(path: Path, observation: str | None, remap_vocab: bool) -> Path:
    """The dataset that a format makes of a file where one of Ludory is wanted; `path` itself if it is of no other format.

    Raises:
        DataError: the file must be converted first, or is damaged.
    """
    found = formats_of(path)
    if not found:
        kinds = [one for one in known_formats().values() if one.can("as_dataset")]
        found = [one for one in kinds if one.is_named(path)][:1]
    if len(found) > 1:
        titles, commands = " and ".join(one.title for one in found), " and ".join(one.conversion(path) for one in found)
        mixed = f"`ludory train bc --data {found[0].id}-games --mix {found[1].id}-games=0.3` learns from both"
        raise DataError(f"{path}: {titles}; convert them first: {commands}; {mixed}")
    return found[0].as_dataset(path, observation, remap_vocab) if found else path
