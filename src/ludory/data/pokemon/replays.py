"""Recorded battles of all kinds, told apart by their content: replays, server logs, saved pages, and battles with their input log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeGuard

from ludory.envs.pokemon.vocab import to_id
from ludory.errors import RejectedBattleError
from ludory.reading import JsonError, parse_json, shown, unpacked

from .rejections import Rejection, reject

PAGE_LOG = re.compile(r"<script[^>]*class=[\"']battle-log-data[\"'][^>]*>(.*?)</script>", re.DOTALL)
PAGE_ID = re.compile(r"name=[\"']replayid[\"'][^>]*value=[\"']([^\"']+)[\"']")
LARGEST_PAGE = 1 << 26


class RecordedBattle(NamedTuple):
    """A battle as it was recorded."""

    id: str
    format: str
    """Id of the format, such as gen9ou."""
    lines: tuple[str, ...]
    """Log that a spectator sees, without lines of the clock (|t:|) and without empty lines at the end."""
    input_log: tuple[str, ...]
    """Seed, teams and choices of both sides; empty if not recorded."""
    teams: tuple[str, str] | None
    """Packed teams in the order of fixed slots, if recorded."""
    rating: int | None
    day: str
    """YYYY-MM-DD in UTC; empty if unknown."""
    agents: tuple[str, str] | None
    """Who played, if the recording says it."""
    place: str
    """File and line."""


def read_battles(path: str | Path) -> Iterator[RecordedBattle | Rejection]:
    """Yield the battles of a file in order, and what is not a battle as a rejection.

    Accepted: a replay as JSON (`id`, `formatid` or `format`, `log` as one string), one object per line, in a list, or alone; the
    server's `log.json` (`log` is a list of lines); battles with `inputLog`; a saved replay page; each of them also as gzip.

    Raises:
        OSError: the file cannot be read.
    """
    name = str(path)
    handle, flaw = unpacked(path)
    with handle:
        # the kind is told by content: file names of replays say nothing
        start = handle.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
        handle.seek(0)
        if start.startswith(b"<"):
            yield _battle(lambda: _page(handle, Path(path).name), name)
        elif start:
            yield from _objects(handle, name)
        elif not flaw:
            yield Rejection("bad_json", "the file is empty", "", name)
    if flaw:
        yield Rejection("bad_json", flaw, "", name)


def _objects(handle: IO[bytes], name: str) -> Iterator[RecordedBattle | Rejection]:
    """Of JSON lines; if the first line is no whole value, of the file as one value."""
    first = handle.readline()
    try:
        parse_json(first)
    except JsonError as error:
        handle.seek(0)
        # a first line that is cut may begin one value over several lines
        whole = handle.read(LARGEST_PAGE) if error.cut else b""
        try:
            values = parse_json(whole, finite=True)
        except JsonError:
            pass
        else:
            for number, value in enumerate(values if isinstance(values, list) else [values], 1):
                yield _battle(lambda value=value: value, f"{name}, battle {number}")
            return
    handle.seek(0)
    for number, line in enumerate(handle, 1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        if number == 1 and line.lstrip().startswith(b"["):
            try:
                values = parse_json(line, finite=True)
            except JsonError as error:
                yield Rejection("bad_json", str(error), "", place)
                continue
            for index, value in enumerate(values, 1):
                yield _battle(lambda value=value: value, f"{name}, battle {index}")
        else:
            yield _battle(lambda line=line: parse_json(line, finite=True), place)


def _battle(get: Any, place: str) -> RecordedBattle | Rejection:
    record: Any = None
    try:
        record = get()
        return battle_of(record, place)
    except JsonError as error:
        return Rejection("bad_json", str(error), "", place)
    except RejectedBattleError as error:
        id = record.get("id") if isinstance(record, dict) else ""
        return Rejection(error.name, error.detail, id if isinstance(id, str) else "", place)


def _page(handle: IO[bytes], name: str) -> dict[str, Any]:
    text = handle.read(LARGEST_PAGE).decode("utf-8", "replace")
    found = PAGE_LOG.search(text)
    if found is None:
        raise reject("bad_json", 'a page without <script class="battle-log-data">')
    id = PAGE_ID.search(text)
    # "<\\/" keeps a page's script from ending inside the log
    return {"id": id[1] if id else name.split(".")[0], "log": found[1].replace("<\\/", "</").strip("\n")}


def battle_of(record: object, place: str = "a record") -> RecordedBattle:
    """The battle of a parsed record.

    Raises:
        RejectedBattleError: the record is not that of a battle.
    """
    if not isinstance(record, dict):
        raise reject("bad_json", f"a {type(record).__name__}, must be an object")
    if "log" not in record:
        raise reject("bad_json", "no log")
    lines = _lines(record["log"], "log")
    input_log = _lines(record.get("inputLog") or [], "inputLog")
    rating, agents = record.get("rating"), (record.get("p1agent"), record.get("p2agent"))
    if rating is None:
        # servers write the rating of both, sites one number
        rating = _lower_rating(record)
    return RecordedBattle(
        id=_id_of(record, place),
        format=_format_of(record, lines),
        lines=lines,
        input_log=input_log,
        teams=_teams(record),
        # an Elo beyond any that exists is a mistake
        rating=int(rating) if _is_number(rating) and abs(rating) < 1e6 else None,
        day=_day(record),
        agents=(str(agents[0]), str(agents[1])) if all(isinstance(one, str) for one in agents) else None,
        place=place,
    )


def _lines(log: object, name: str) -> tuple[str, ...]:
    lines = log.split("\n") if isinstance(log, str) else log
    if not isinstance(lines, list):
        raise reject("bad_json", f"{name} is {shown(log)}, must be a text or a list of lines")
    if not all(isinstance(line, str) for line in lines):
        wrong = next(line for line in lines if not isinstance(line, str))
        raise reject("bad_line", f"{shown(wrong)} in {name}, must be a text")
    # the clock has nothing to do with the battle, and it differs between copies of one log
    kept = [line.rstrip("\r") for line in lines if not line.startswith("|t:|")]
    while kept and not kept[-1]:
        kept.pop()
    # an empty line in the log is a line with an empty kind
    return tuple(line or "|" for line in kept)


def _id_of(record: dict[str, Any], place: str) -> str:
    for name in ("id", "roomid"):
        # the place is unique where nothing else is
        if isinstance(record.get(name), str) and record[name]:
            return str(record[name])
    return str(record["source"]) if isinstance(record.get("source"), str) else place.replace(", ", "#")


def _format_of(record: dict[str, Any], lines: tuple[str, ...]) -> str:
    tier = next((line.split("|")[2] for line in lines if line.startswith("|tier|")), "")
    for name in ("formatid", "format"):
        if isinstance(record.get(name), str) and record[name]:
            said = record[name]
            return said if "@@@" in said else to_id(said)
    return to_id(tier)


def _lower_rating(record: dict[str, Any]) -> float | None:
    ratings = [record.get(name) for name in ("p1rating", "p2rating")]
    numbers = [one.get("elo", one.get("rpr")) if isinstance(one, dict) else one for one in ratings]
    found = [one for one in numbers if _is_number(one)]
    return min(found) if len(found) == 2 else None


def _is_number(value: object) -> TypeGuard[float]:
    return type(value) in (int, float)


def _teams(record: dict[str, Any]) -> tuple[str, str] | None:
    teams = [record.get(name) for name in ("p1team", "p2team")]
    return (teams[0], teams[1]) if all(isinstance(team, str) and team for team in teams) else None  # type: ignore[return-value]


def _day(record: dict[str, Any]) -> str:
    when = record.get("uploadtime")
    # seconds; milliseconds would be a year far away
    if _is_number(when) and 0 < when < 1e11:
        return datetime.fromtimestamp(when, timezone.utc).strftime("%Y-%m-%d")
    stamp = record.get("timestamp")
    if isinstance(stamp, str):
        try:
            return datetime.strptime(stamp.split(" GMT")[0], "%a %b %d %Y %H:%M:%S").strftime("%Y-%m-%d")
        except ValueError:
            return ""
    return ""
