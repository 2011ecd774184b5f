"""Recorded games below a folder: sets of `ludory record` and replays, their tables, and any game by its id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ludory.data.replay import Replay
from ludory.data.shards import MANIFEST, read_manifest
from ludory.data.viewing.recorded_games import GameFilter, is_replay, list_games, replay_of
from ludory.errors import DataError, OptionError, UnknownIdError

from .folders import short_key, walk

PAGE = 50
"""Games of a page."""
_ID = re.compile(r"g-([0-9a-f]{10})-(\d{1,9})")


class HasData(Protocol):
    """Settings with the folder of recorded games; None: there is none."""

    @property
    def data(self) -> Path | None:
        """The folder."""


class RecordedFolder(NamedTuple):
    """A set of recorded games, or a folder with replays."""

    key: str
    """Stands for the folder in addresses."""
    name: str
    """Path below the folder of recorded games."""
    folder: Path
    kind: str
    """set or replays"""
    changed: float


def find_recordings(top: Path | None) -> dict[str, RecordedFolder]:
    """The sets and folders of replays below a folder by their keys, the newest first."""
    found = []
    for folder in walk(top):
        name = folder.key or folder.path.name
        newest = max((known.st_mtime for known in folder.files.values()), default=0.0)
        if MANIFEST in folder.files:
            found.append(RecordedFolder(short_key(folder.key), name, folder.path, "set", newest))
        elif any(file.endswith(".json") and is_replay(folder.path / file) for file in folder.files):
            found.append(RecordedFolder(short_key(folder.key), name, folder.path, "replays", newest))
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
    match = _ID.fullmatch(id)
    if match is None:
        raise UnknownIdError(f"no recorded game {id!r}; /games lists all that there are")
    return replay_of(find_recording(settings.data, match[1]).folder, int(match[2]))


def describe(one: RecordedFolder) -> dict[str, Any]:
    """One row of the list of folders; a set that cannot be read says why in `problem`."""
    known: dict[str, Any] = {"key": one.key, "name": one.name, "kind": one.kind, "changed": one.changed}
    if one.kind == "replays":
        page = list_games(one.folder, count=1)
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
    listed = list_games(found.folder, chosen, PAGE * (max(page, 1) - 1), PAGE)
    pages = max(1, -(-listed.found // PAGE))
    if not 1 <= page <= pages:
        raise OptionError(f"page={page}: there are the pages 1 to {pages}")
    return {
        **describe(found),
        "found": listed.found,
        "total": listed.total,
        "page": page,
        "pages": pages,
        "rows": [row._asdict() | {"id": f"g-{key}-{row.row}"} for row in listed.rows],
    }
