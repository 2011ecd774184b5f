"""Recorded games below a folder: sets of `ludory record`, replays and what viewers show, their tables, and any game by its id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ludory.data.replay import Replay
from ludory.data.shards import read_manifest
from ludory.data.viewing.game_rows import GameFilter, Kind
from ludory.data.viewing.recorded_games import kinds_of, list_games, replay_of
from ludory.data.viewing.viewer import viewed_content, viewers
from ludory.envs.engine.base import EngineBase
from ludory.envs.make import make_engine, make_game
from ludory.errors import DataError, OptionError, PluginError, UnknownIdError

from .folders import short_key, walk

PAGE = 50
"""Games of a page."""
MOST_SEEN = 1000
"""Games of a folder whose rules are named."""
_ID = re.compile(r"[gb]-([0-9a-f]{10})-(\d{1,9})")


class HasData(Protocol):
    """Settings with the folder of recorded games; None: there is none."""

    @property
    def data(self) -> Path | None:
        """The folder."""


class RecordedFolder(NamedTuple):
    """A set of recorded games, or a folder with replays or files of a viewer."""

    key: str
    """Stands for the folder in addresses."""
    name: str
    """Path below the folder of recorded games."""
    folder: Path
    kind: Kind
    changed: float


def find_recordings(top: Path | None) -> dict[str, RecordedFolder]:
    """What a folder has below it by keys, the newest first; a folder with files of several kinds stands there several times."""
    found = []
    for folder in walk(top):
        name = folder.key or folder.path.name
        newest = max((known.st_mtime for known in folder.files.values()), default=0.0)
        for kind in kinds_of(folder.path) if folder.files else ():
            key = short_key(f"{folder.key}/*{kind}" if kind in viewers() else folder.key)
            found.append(RecordedFolder(key, name, folder.path, kind, newest))
    return {one.key: one for one in sorted(found, key=lambda one: (-one.changed, one.name))}


def find_recording(top: Path | None, key: str) -> RecordedFolder:
    """The set or folder of a key.

    Raises:
        UnknownIdError: there is none.
    """
    found = find_recordings(top).get(key)
    if found is None:
        raise UnknownIdError(f"no recorded games {key!r} below the folder of data; /games lists all that there are")
    return found


def find_game(settings: HasData, id: str) -> Replay:
    """The recorded game of an id `g-<folder>-<row>`.

    Raises:
        UnknownIdError: there is no such game.
        DataError, ReplayError: its set cannot be read, or the game does not go as recorded.
    """
    found, row = _find(settings, id)
    return replay_of(found.folder, row)


def find_viewed(settings: HasData, id: str) -> dict[str, Any]:
    """The data of the page of a game `b-<folder>-<row>` that a viewer shows.

    Raises:
        UnknownIdError: there is no such game.
        DataError: it cannot be shown.
    """
    found, row = _find(settings, id)
    return viewed_content(found.kind, found.folder, row)


def _find(settings: HasData, id: str) -> tuple[RecordedFolder, int]:
    """Folder and row of an id."""
    match = _ID.fullmatch(id)
    if match is not None:
        found = find_recording(settings.data, match[1])
        if (found.kind in viewers()) == id.startswith("b"):
            return found, int(match[2])
    raise UnknownIdError(f"no recorded game {id!r}; /games lists all that there are")


def describe(one: RecordedFolder) -> dict[str, Any]:
    """One row of the list of folders; a set that cannot be read says why in `problem`."""
    known: dict[str, Any] = {"key": one.key, "name": one.name, "kind": one.kind, "changed": one.changed}
    if one.kind != "set":
        page = list_games(one.folder, count=MOST_SEEN, kind=one.kind)
        games = sorted({row.game for row in page.rows})
        agents = page.rows[0].agents if page.rows else ()
        return known | {"games": page.total, "game": ", ".join(games), "agents": list(agents), "problem": None}
    try:
        manifest = read_manifest(one.folder)
    except DataError as error:
        return known | {"games": None, "game": None, "agents": [], "problem": str(error)}
    header = manifest.header
    return known | {"games": manifest.games, "game": header.game, "agents": list(header.agents), "problem": None}


def folders_page(top: Path | None, words: str = "") -> list[dict[str, Any]]:
    """The rows of all folders whose name, game or agents contain all of `words`."""
    rows = [describe(one) for one in find_recordings(top).values()]
    wanted = words.lower().split()
    return [row for row in rows if all(word in _searched(row) for word in wanted)]


def _searched(row: Mapping[str, Any]) -> str:
    return " ".join([row["name"], row["game"] or "", *row["agents"]]).lower()


def games_page(top: Path | None, key: str, chosen: GameFilter, page: int = 1) -> dict[str, Any]:
    """A page of the games of a folder: as `ludory watch FOLDER --json` prints them, with the id of each game.

    Raises:
        UnknownIdError: there is no such folder.
        DataError: the set cannot be read.
        OptionError: the filter does not fit the game, or there is no such page.
    """
    found = find_recording(top, key)
    listed = list_games(found.folder, chosen, PAGE * (max(page, 1) - 1), PAGE, found.kind)
    pages, letter = max(1, -(-listed.found // PAGE)), "b" if found.kind in viewers() else "g"
    if not 1 <= page <= pages:
        raise OptionError(f"page={page}: there are the pages 1 to {pages}")
    return {
        **describe(found),
        "found": listed.found,
        "total": listed.total,
        "page": page,
        "pages": pages,
        "needs": what_is_missing(found),
        "rows": [row._asdict() | {"id": f"{letter}-{key}-{row.row}"} for row in listed.rows],
    }


def what_is_missing(one: RecordedFolder) -> str:
    """What to type before games of a set can be played again; "" if nothing is missing."""
    if one.kind != "set":
        return ""
    header = read_manifest(one.folder).header
    try:
        game = make_game(header.game, **header.options)
        if game.rules.engine is not None:
            with closing(make_engine(game)) as engine:
                if isinstance(engine, EngineBase):
                    engine.check_installed()
    except (PluginError, UnknownIdError) as error:
        return str(error)
    return ""
