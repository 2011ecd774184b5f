"""`ludory check data`: what files of recorded games contain, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from glob import glob
from pathlib import Path
from typing import Annotated

from ludory.arguments import Arg
from ludory.cli.common.formats import WithGame, as_chosen, formats_that, game_of, with_formats
from ludory.cli.common.options import Flag
from ludory.cli.common.parser import parse
from ludory.data import GameFormat
from ludory.data.formats.core import format_of
from ludory.errors import DataError, OptionError
from ludory.visible import visible

WILD = "*?["


@dataclass(frozen=True, kw_only=True)
class _Options(WithGame):
    """Sum up folders of `ludory record` and files of other formats; `ludory list formats` shows these.

    Of a recording every row is checked: legal actions, finite numbers, whole games. Trajectory files of Pokémon battles are summed up as by `ludory pokemon stats`; labels from which nothing can be learned are a fault.

    Example: ludory check data games
    """

    paths: Annotated[tuple[str, ...], Arg(positional=True, metavar="PATH...")]
    """Files, folders (with everything below them) or patterns."""
    json: Flag = False
    """Print one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Read all files and print a summary; exit code 1 if something is wrong or was left out."""
    known = formats_that("read")
    chosen = parse(with_formats(_Options, known.values()), argv, "check data")
    paths = [file for path in chosen.paths for file in _matches(path)]
    one = as_chosen(_common_format(paths, known), chosen)
    found = one.check(paths, game_of(one, chosen))
    print(json.dumps(found.summary, indent=2) if chosen.json else "\n".join(map(visible, found.lines)))
    return 0 if found.sound else 1


def _matches(path: str) -> Sequence[str]:
    """Files that a pattern names; the path itself, if it is none."""
    return (sorted(glob(path, recursive=True)) if set(path) & set(WILD) else []) or [path]


def _common_format(paths: Sequence[str], known: Mapping[str, GameFormat]) -> GameFormat:
    """The format of all paths.

    Raises:
        DataError: one is of none.
        OptionError: they are of several.
    """
    found = {path: format_of(path, known.values()) for path in paths}
    first, one = next(((path, one) for path, one in found.items() if one is not None), ("", None))
    if one is None:
        patterns = dict.fromkeys(pattern for kind in known.values() for pattern in kind.files)
        lost = Path(paths[0])
        got = f"of none of the formats {', '.join(known)}" if lost.exists() else "no such file"
        beside = [file.name for file in lost.parent.iterdir()] if lost.parent.is_dir() and not lost.exists() else []
        hint = "".join(f"; did you mean {lost.parent / near}?" for near in get_close_matches(lost.name, beside, 1))
        if lost.is_dir():
            inside = [pattern for pattern in patterns if any(lost.glob(pattern))]
            hint = "".join(f"; it holds such files: ludory check data {lost / pattern}" for pattern in inside[:1])
        raise DataError(f"{lost}: {got}; must be a file or folder with files called {', '.join(patterns)}{hint}")
    for path, other in found.items():
        if other is None or (other.family or other.id) != (one.family or one.id):
            raise OptionError(f"{path}: is not {one.title}, as {first} is; check it alone")
    return one
