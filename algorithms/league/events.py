"""The event log of a league: one JSON object per line, appended and forced to disk, never rewritten."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ludory.errors import DataError

FILE = "events.jsonl"
TYPES = (
    "created",
    "player_added",
    "assigned",
    "result",
    "refused",
    "progress",
    "snapshot",
    "reset",
    "evaluated",
    "checkpoint",
    "committed",
    "resumed",
    "closed",
)


class Event(NamedTuple):
    """One line: its number, its type, when it was written (seconds since 1970), and what it says."""

    seq: int
    type: str
    wall_time: float
    body: Mapping[str, Any]


class EventLog:
    """Appends events to `DIR/events.jsonl`.

    A torn last line, left by a crash, is cut off on opening.

    Args:
        folder: of the league.
    """

    def __init__(self, folder: str | Path) -> None:
        self.file = Path(folder) / FILE
        _cut_torn_line(self.file)
        self.events = read_events(folder) if self.file.exists() else []
        self._handle = self.file.open("a", encoding="utf-8")

    @property
    def next_seq(self) -> int:
        """Number of the next event."""
        return self.events[-1].seq + 1 if self.events else 0

    def append(self, type: str, **body: Any) -> Event:
        """Write an event; it is on disk after the next `flush`."""
        event = Event(self.next_seq, type, time.time(), body)
        line = {"seq": event.seq, "type": type, "wall_time": event.wall_time, **body}
        self._handle.write(json.dumps(line, allow_nan=False) + "\n")
        self.events.append(event)
        return event

    def flush(self) -> None:
        """Force what was appended to disk."""
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def close(self) -> None:
        """Flush and close the file."""
        self.flush()
        self._handle.close()


def read_events(folder: str | Path) -> list[Event]:
    """All whole events of a league, those voided by a resume included (see `standing`).

    Raises:
        DataError: no log, or a line that is not an event, with its number.
    """
    file = Path(folder) / FILE
    if not file.exists():
        raise DataError(f"{file}: no such file; `ludory league run --out {folder}` starts a league")
    return list(_parsed(file))


def _parsed(file: Path) -> Iterator[Event]:
    data = file.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]  # a torn last line is no event
    for number, line in enumerate(whole.decode("utf-8").splitlines(), 1):
        try:
            body = json.loads(line)
            seq, type, wall_time = body.pop("seq"), body.pop("type"), body.pop("wall_time")
        except (json.JSONDecodeError, KeyError, AttributeError) as error:
            raise DataError(f"{file}, line {number}: not an event of a league ({error}): {line[:80]!r}") from error
        if type not in TYPES:
            raise DataError(f"{file}, line {number}: type {type!r}; must be one of {', '.join(TYPES)}")
        if seq != number - 1:
            raise DataError(f"{file}, line {number}: seq {seq}, must be {number - 1}; lines are missing or doubled")
        yield Event(seq, type, wall_time, body)


def standing(events: list[Event]) -> list[Event]:
    """The events that count: a `resumed` event voids those between what it resumed from and itself."""
    kept: list[Event] = []
    for event in events:
        if event.type == "resumed":
            kept = [earlier for earlier in kept if earlier.seq <= event.body["from_seq"]]
        kept.append(event)
    return kept


def _cut_torn_line(file: Path) -> None:
    if not file.exists():
        return
    with file.open("rb+") as handle:
        data = handle.read()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            handle.truncate(whole)
