"""JSON objects of a file, one per line, all in one array or a single one on many lines, with their places, and a list of what is wrong with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ludory.errors import LogFormatError
from ludory.reading import JsonError, parse_json, unpacked

MOST_PROBLEMS = 20
LARGEST = 3.4028234663852886e38
"""Largest float32."""
TORN = "the game whose record is torn"
"""Stands for the game of an incomplete last line; its other records reveal it, since they have no end."""


class Record(NamedTuple):
    """A JSON object and its place, such as "log.jsonl, line 3"."""

    place: str
    content: dict[str, Any]


class Problems:
    """Problems of a log, collected to be reported together."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        """All problems, as `StoredGames.left_out` has them where games are left out."""
        self.bad_games: set[Hashable] = set()
        """The games to leave out."""
        self.of_no_game = 0
        """Number of problems that belong to no particular game."""

    def add(self, place: str, field: str, got: object, allowed: str, game: Hashable = None) -> None:
        """Note a problem; `game`: the game to leave out because of it, None if unknown."""
        self.texts.append(f"{place}, field {field!r}: got {got}, must be {allowed}")
        if game is None:
            self.of_no_game += 1
        else:
            self.bad_games.add(game)

    def raise_if_any(self) -> None:
        """Raise an error that lists up to 20 problems.

        Raises:
            LogFormatError: there are problems.
        """
        if len(self.texts) == 1:
            raise LogFormatError(self.texts[0])
        if self.texts:
            shown = "\n  ".join(self.texts[:MOST_PROBLEMS])
            more = f"\n  and {len(self.texts) - MOST_PROBLEMS} more" if len(self.texts) > MOST_PROBLEMS else ""
            raise LogFormatError(f"{len(self.texts)} problems in the log:\n  {shown}{more}")


def json_records(file: str | Path, problems: Problems) -> Iterator[Record]:
    """Yield the objects of a UTF-8 file and note everything else in `problems`; a byte-order mark and empty lines are allowed."""
    name = str(file)
    try:
        handle, flaw = unpacked(file)
        with handle:
            # "utf-8-sig": a byte-order mark at the beginning is no content
            text = "" if flaw else handle.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        flaw = str(error)
    if flaw:
        problems.add(name, "file", flaw, "a readable file of UTF-8 text, plain or gzip")
        return
    if not text.strip():
        problems.add(name, "file", "no record", "one JSON object on a line, or one array of them")
        return
    for place, value in _values(name, text, problems):
        if isinstance(value, dict):
            yield Record(place, value)
        else:
            problems.add(place, "record", f"a {type(value).__name__}", "a JSON object")


def _values(name: str, text: str, problems: Problems) -> Iterator[tuple[str, Any]]:
    # one array must be read as a whole; lines are read one by one, so that good ones survive bad ones
    if text.lstrip().startswith("["):
        try:
            values = parse_json(text)
        except JsonError as error:
            problems.add(name, "file", "the file ends inside a record" if error.cut else error, "one JSON array")
            return
        if not values:
            problems.add(name, "file", "no record", "one JSON object on a line, or one array of them")
        yield from ((f"{name}, index {number}", value) for number, value in enumerate(values))
        return
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if lines[0][1].strip() == "{":  # one object, as people's tools print it
        try:
            yield name, parse_json(text)
        except JsonError as error:
            problems.add(name, "file", "the file ends inside a record" if error.cut else error, "one JSON object")
        return
    for number, line in lines:
        try:
            value = parse_json(line)
        except JsonError as error:
            # a torn last line is told apart: its game can be left out
            last = number == lines[-1][0] and not text.endswith("\n")
            got = "the file ends inside a record" if last else error
            problems.add(f"{name}, line {number}", "record", got, "a JSON object", TORN if last else None)
        else:
            yield f"{name}, line {number}", value
