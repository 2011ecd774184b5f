"""`Viewer`: shows the recorded games of a format of files. What formats there are is known by the registry `ludory.viewers` alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ludory.envs.pictures import plain
from ludory.errors import DataError, LudoryError, PluginError, UnknownIdError
from ludory.plugins import viewers as registry
from ludory.visible import visible

from .game_rows import GameRow
from .replay_page import LineTable

__all__ = ["Viewer"]  # for other packages

MOST_ROWS = 1000
"""Games of a folder that are listed."""
MOST_FILES = 5000
"""Files of a folder that are looked at."""
_T = TypeVar("_T")
_LOG = logging.getLogger("ludory")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Shows recorded games of one format for `ludory watch` and the browser, from what their files tell.

    Its functions see one file at a time, never a symbolic link of a folder. Rows are counted from 0; their `row` may be anything.
    """

    what: str
    """What the files hold, in the plural, such as "logs of battles"."""
    shows: Callable[[Path], bool]
    """Whether a file is of this format. All files of a folder are asked, so it looks at the ending and the first bytes only."""
    rows: Callable[[Path], Iterable[GameRow]]
    """The games of a file, as a table shows them."""
    texts: Callable[[Path, int], Iterable[tuple[str, str]]]
    """What happened, in words, and the picture after it as (coloured) text, for each position of a game."""
    content: Callable[[Path, int], dict[str, Any]] | None = None
    """The data of a game's page, as `ludory.data.viewing.replay_page.filled_page` takes it; None: what `texts` tells."""
    counts: str = "moves"
    """What `GameRow.moves` counts."""


@cache
def viewers() -> dict[str, Viewer]:
    """All viewers by id; broken ones are left out, which the log says once."""
    found = {}
    for id in registry.ids():
        try:
            found[id] = registry.load(id)
        except PluginError as error:
            _LOG.warning("%s", visible(error))
    return found


def viewed_files(id: str, place: str | Path) -> list[Path]:
    """The files of a viewer directly in a folder, by name, or the file itself; symbolic links in a folder are left out."""
    top = Path(place)
    files = sorted(top.glob("*"))[:MOST_FILES] if top.is_dir() else [top]
    return [file for file in files if (file == top or not file.is_symlink()) and _shows(id, *_version(file))]


def viewed_rows(id: str, place: str | Path) -> list[GameRow]:
    """The games of a viewer in a folder or file, the first `MOST_ROWS`. Files that cannot be read are left out."""
    rows: list[GameRow] = []
    for file in viewed_files(id, place):
        rows += [
            one._replace(row=len(rows) + k) for k, one in enumerate(_rows(id, *_version(file))[: MOST_ROWS - len(rows)])
        ]
    return rows


def viewed_content(id: str, place: str | Path, row: int) -> dict[str, Any]:
    """The data of the page of a row of `viewed_rows`.

    Raises:
        UnknownIdError: there is no such row.
        DataError: the game cannot be shown, or the viewer fails.
    """
    file, number = _game(id, place, row)
    viewer = viewers()[id]
    if viewer.content is None:
        return _content_of_texts(_rows(id, *_version(file))[number], viewed_texts(id, file, number))
    return _tried(id, file, partial(viewer.content, file, number))


def _content_of_texts(game: GameRow, texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    table = LineTable()
    positions = [{"move": words, "text": [table.add(plain(picture))]} for words, picture in texts]
    return {
        "title": f"{game.game}: {game.name}",
        "subtitle": ", ".join(game.agents),
        "about": {},
        "views": ["everything"],
        "view": 0,
        "positions": [{"gain": "", "returns": "", "info": {}, "moment": "", **position} for position in positions],
        "speed": 1.0,
        "lines": table.lines,
    }


def viewed_texts(id: str, place: str | Path, row: int) -> Iterator[tuple[str, str]]:
    """Yield what happened, and the picture after it, for each position; arguments and errors as of `viewed_content`."""
    file, number = _game(id, place, row)
    yield from _tried(id, file, lambda: list(viewers()[id].texts(file, number)))


def _game(id: str, place: str | Path, row: int) -> tuple[Path, int]:
    """File and number there of a row."""
    left = row
    for file in viewed_files(id, place):
        count = len(_rows(id, *_version(file)))
        if 0 <= left < count:
            return file, left
        left -= count
    raise UnknownIdError(f"{place}: no row {row}; it has {row - left} games")


def _version(file: Path) -> tuple[str, int, int]:
    """Name, size and time of change, by which answers are kept; a file that is not there has size -1."""
    try:
        known = file.stat()
    except OSError:
        return str(file), -1, 0
    return str(file), known.st_size if file.is_file() else -1, known.st_mtime_ns


@lru_cache(1 << 15)
def _shows(id: str, file: str, size: int, changed: int) -> bool:
    return size >= 0 and _kept(id, file, lambda: bool(viewers()[id].shows(Path(file))), False)


@lru_cache(2048)
def _rows(id: str, file: str, size: int, changed: int) -> tuple[GameRow, ...]:
    return _kept(
        id, file, lambda: tuple(GameRow(*one) for one in islice(viewers()[id].rows(Path(file)), MOST_ROWS)), ()
    )


def _kept(id: str, file: str, ask: Callable[[], _T], otherwise: _T) -> _T:
    """The answer of a viewer, or `otherwise` where it cannot read a file: one file must not hide the others."""
    try:
        return _tried(id, file, ask)
    except LudoryError as error:
        _LOG.warning("%s", visible(error))
        return otherwise


def _tried(id: str, file: str | Path, ask: Callable[[], _T]) -> _T:
    """The answer of a viewer; whatever it raises is a `LudoryError`."""
    try:
        return ask()
    except LudoryError:
        raise
    except (Exception, SystemExit) as error:  # of another package, anything
        owner = registry.get(id).distribution
        raise DataError(
            f"{file}: the viewer {id!r} of the package {owner} failed ({type(error).__name__}: {error}); tell its authors"
        ) from error
