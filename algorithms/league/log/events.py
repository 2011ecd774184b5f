"""The event log of a league: one JSON object per line, appended and forced to disk, never rewritten.

Every `committed` line has the SHA-256 of all bytes before it, and `head.json` names the last such line, so that a log that was cut
or edited is detected. The head is written after the line is on disk: a crash in between leaves a log longer than its head.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from typing_extensions import Self

from ludory.atomic import atomic_file
from ludory.errors import DataError, OutputError
from ludory.reading import read_json

FILE, HEAD = "events.jsonl", "head.json"
KEPT = "events-kept.jsonl"
"""The log of a running league whose file was replaced by another one."""
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
_AT_ONCE = 1000
"""Lines that are parsed together, a third faster than one by one."""
_BLOCK = 1 << 20
"""Bytes whose lines are counted together."""


class LeagueEvent(NamedTuple):
    """One line: its number, its type, the time of writing (seconds since 1970), and its content."""

    seq: int
    type: str
    wall_time: float
    body: Mapping[str, Any]


class Reducer:
    """Accumulates events: `apply` calls the method `_on_TYPE` of a subclass with the event's body as keyword arguments.

    The signatures of these methods say which keys an event must or may have. Types without a method change nothing.
    """

    __slots__ = ()
    _handlers: ClassVar[Mapping[str, Callable[..., None]]]

    def __init_subclass__(cls) -> None:
        cls._handlers = {type: getattr(cls, f"_on_{type}") for type in TYPES if hasattr(cls, f"_on_{type}")}

    def apply(self, event: LeagueEvent) -> None:
        """Apply one event.

        Raises:
            DataError: an unknown type, a missing key, or an unknown player or match; with its line in the log.
        """
        handler = self._handlers.get(event.type)
        if handler is not None:
            try:
                handler(self, **event.body)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise misfit(event, error) from error
        elif event.type not in TYPES:
            raise DataError(f"line {event.seq + 1} of the log: {_unknown(event.type)}")


def _unknown(type: str) -> str:
    return f"type {type!r}; must be one of {', '.join(TYPES)}"


class EventLog:
    """Appends events to `DIR/events.jsonl`. An incomplete last line, left by a crash, is cut off on opening.

    Args:
        folder: of the league.
        since: number of a `committed` event up to which the state is known. Of the events before it, only those are read that a
            resumed league needs: the first one and the last `resumed`. The hashes cover all bytes as ever. None: read all.

    Raises:
        DataError: as `read_events`.
    """

    def __init__(self, folder: str | Path, since: int | None = None) -> None:
        self.file, self._head = Path(folder) / FILE, Path(folder) / HEAD
        head, data = _read_head(self.file), _whole_lines(self.file) if self.file.exists() else b""
        known = None if since is None else _checked_since(self.file, data, head, since)
        self.events = _checked(self.file, data, head) if known is None else known
        self._digest, self._bytes = hashlib.sha256(data), len(data)
        self._next, self._keeps = self.events[-1].seq + 1 if self.events else 0, True
        self._handle = self.file.open("a+b")
        self._handle.truncate(self._bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def next_seq(self) -> int:
        """Number of the next event."""
        return self._next

    def release(self) -> None:
        """Empty `events` and keep no further ones: a league that runs for weeks needs its state, and the file has the rest."""
        self.events, self._keeps = [], False

    def append(self, type: str, **body: Any) -> LeagueEvent:
        """Write an event; the next `flush` or `commit` forces it to disk."""
        event = LeagueEvent(self.next_seq, type, time.time(), body)
        data = _line(event)
        self._handle.write(data)
        self._digest.update(data)
        self._bytes += len(data)
        self._next += 1
        if self._keeps:
            self.events.append(event)
        return event

    def commit(self, seconds: float) -> LeagueEvent:
        """Write a `committed` event and force everything to disk; `seconds` passed since the last one.

        Raises:
            OutputError: the file is gone or was replaced.
        """
        event = self.append("committed", seconds=seconds, sha256=self._digest.hexdigest())
        self.flush()
        self.check_present()
        with atomic_file(self._head, "w") as handle:
            json.dump({"seq": event.seq, "bytes": self._bytes, "sha256": self._digest.hexdigest()}, handle)
        return event

    def check_present(self) -> None:
        """Check that the file on disk is still the one that was written.

        Raises:
            OutputError: it is gone, was replaced, or has another length; where possible, its content is written again.
        """
        self._handle.flush()
        mine = os.fstat(self._handle.fileno())
        try:
            there = os.stat(self.file)
        except OSError as error:
            problem = f"gone while the league ran ({error.strerror})"
        else:
            if os.path.samestat(there, mine) and there.st_size == self._bytes:
                return
            same = f"{there.st_size} bytes, {self._bytes} were written: something else changes it"
            problem = same if os.path.samestat(there, mine) else "replaced by another file while the league ran"
        raise OutputError(f"{self.file}: {problem}; {self._written_again()}")

    def _written_again(self) -> str:
        """Write all events again, beside a file that took the log's place; returns what to type next."""
        self._handle.seek(0)
        opened = self._handle.read(self._bytes)  # it is there, also when its name is gone
        data = b"".join(map(_line, self.events)) if self._keeps else opened
        kept = self.file.with_name(KEPT) if self.file.exists() else self.file
        resume = f"`ludory train league --out {self.file.parent} --resume` continues from its last commit"
        if self.file.parent.exists() and hashlib.sha256(data).digest() == self._digest.digest():
            try:
                with atomic_file(kept) as handle:
                    handle.write(data)
            except OSError:  # OutputError among them
                pass
            else:
                return (
                    f"it was written again, {resume}"
                    if kept == self.file
                    else f"put {kept} in its place, then {resume}"
                )
        return f"put the old file back, then {resume}"

    def flush(self) -> None:
        """Force appended events to disk."""
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def close(self) -> None:
        """Flush and close the file."""
        self.flush()
        self._handle.close()


def _line(event: LeagueEvent) -> bytes:
    line = {"seq": event.seq, "type": event.type, "wall_time": event.wall_time, **event.body}
    return json.dumps(line, allow_nan=False).encode() + b"\n"


def read_events(folder: str | Path) -> list[LeagueEvent]:
    """All events of a league, including those voided by a resume (see `standing`).

    Raises:
        DataError: there is no log; a line is not an event (with its number); or lines are missing or were changed.
    """
    file = Path(folder) / FILE
    if not file.exists():
        raise DataError(f"{file}: no such file; `ludory train league --out {folder}` starts a league")
    head = _read_head(
        file
    )  # first: a league that runs may write both in between, and the log is never older than its head
    return _checked(file, _whole_lines(file), head)


def standing(events: Sequence[LeagueEvent]) -> list[LeagueEvent]:
    """The events that count: a `resumed` event voids those between its commit and itself."""
    kept: list[LeagueEvent] = []
    for event in events:
        if event.type == "resumed":
            while kept and kept[-1].seq > event.body["from_seq"]:
                kept.pop()
        kept.append(event)
    return kept


def misfit(event: LeagueEvent, error: Exception) -> DataError:
    """The error for an event that lacks a key or names an unknown player or match."""
    return DataError(
        f"line {event.seq + 1} of the log, {event.type}: does not fit the lines before it ({error!r}); put the old file back"
    )


def _whole_lines(file: Path) -> bytes:
    """The bytes of a log without an incomplete last line."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror})") from error
    return data[: data.rfind(b"\n") + 1]


def _checked(file: Path, data: bytes, head: _Head | None) -> list[LeagueEvent]:
    """The events of `data`, after its hashes were checked."""
    lines = data.split(b"\n")[:-1]
    with _without_collector():
        events = _parsed(file, lines)
    _check_hashes(file, data, events, lines, 0)
    _check_head(file, data, len(lines), head)
    return events


def _checked_since(file: Path, data: bytes, head: _Head | None, since: int) -> list[LeagueEvent] | None:
    """The first event of `data`, the last `resumed` one before number `since`, and all from `since` on; checked.

    None where that is not enough: number `since` is no commit, or it was voided by a resume later.
    """
    start = _line_start(data, since)
    if start is None:
        return None
    lines = data[start:].split(b"\n")[:-1]
    with _without_collector():
        tail = _parsed(file, lines, since)
    if tail[0].type != "committed" or any(one.type == "resumed" and one.body["from_seq"] < since for one in tail):
        return None
    _check_hashes(file, data, tail, lines, start)
    _check_head(file, data, since + len(lines), head)
    events = _parsed(file, [data[: data.index(b"\n")]])
    if (mark := data.rfind(b'"type": "resumed"', 0, start)) > 0:
        line = data[data.rfind(b"\n", 0, mark) + 1 : data.index(b"\n", mark)]
        events += _parsed(file, [line], int(json.loads(line)["seq"]))
    return events + tail


def _line_start(data: bytes, number: int) -> int | None:
    """Where line `number` of `data` begins, from 0; None if there are fewer."""
    before, at = 0, 0
    while at < len(data):
        block = data[at : at + _BLOCK]
        here = block.count(b"\n")
        if before + here >= number:
            for _ in range(number - before):
                at = data.index(b"\n", at) + 1
            return at if at < len(data) else None
        before, at = before + here, at + len(block)
    return None


def _check_hashes(file: Path, data: bytes, events: Sequence[LeagueEvent], lines: Sequence[bytes], start: int) -> None:
    """Compare the hashes in `committed` events, of all bytes before them; the lines begin at byte `start`."""
    digest, hashed, last = hashlib.sha256(), 0, 0
    for event, line in zip(events, lines, strict=True):
        if event.type == "committed":
            number = event.seq + 1
            digest.update(memoryview(data)[hashed:start])
            hashed = start
            if event.body.get("sha256", digest.hexdigest()) != digest.hexdigest():
                raise DataError(
                    f"{file}, lines {last + 1} to {number}: not as they were written (SHA-256 of the {number - 1} lines before "
                    f"line {number} is {digest.hexdigest()}, it says {event.body['sha256']}); put the old file back"
                )
            last = number
        start += len(line) + 1


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector, which would walk the 100,000s of objects of a long log again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Head(NamedTuple):
    """The last commit that was written."""

    seq: int
    bytes: int
    sha256: str


def _read_head(file: Path) -> _Head | None:
    """The head of a log; None in leagues of earlier versions, and before the first commit."""
    head = file.with_name(HEAD)
    if not head.exists():
        return None
    try:
        found = read_json(head, finite=True)
        return _Head(int(found["seq"]), int(found["bytes"]), str(found["sha256"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{head}: cannot be read ({error!r}); remove it to continue with the log as it is") from error


def _check_head(file: Path, data: bytes, lines: int, found: _Head | None) -> None:
    """Refuse a log that ends before its last commit."""
    if found is None:
        return
    head = file.with_name(HEAD)
    cure = f"put the old file back; to continue with the rest remove {head}"
    if len(data) < found.bytes:
        raise DataError(
            f"{file}, line {lines + 1}: missing; the league had written {found.seq + 1} whole lines ({found.bytes} bytes), "
            f"{lines} are left ({len(data)} bytes); {cure}"
        )
    if hashlib.sha256(memoryview(data)[: found.bytes]).hexdigest() != found.sha256:
        raise DataError(
            f"{file}, up to line {found.seq + 1}: not as it was written (SHA-256 differs from {head}); {cure}"
        )


def _parsed(file: Path, lines: Sequence[bytes], first: int = 0) -> list[LeagueEvent]:
    """The events of `lines`, of which the first has number `first`."""
    events: list[LeagueEvent] = []
    for start in range(0, len(lines), _AT_ONCE):
        some = lines[start : start + _AT_ONCE]
        try:
            rows = json.loads(b"[" + b",".join(some) + b"]")
        except (ValueError, RecursionError):
            rows = []
        if len(rows) != len(some):
            rows = [_row(file, first + start + number, line) for number, line in enumerate(some, 1)]
        events += [_event(file, number, row) for number, row in enumerate(rows, first + start + 1)]
    return events


def _row(file: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}, line {number}: not an event of a league ({error}): {line[:80]!r}") from error


def _event(file: Path, number: int, row: Any) -> LeagueEvent:
    try:
        seq, type, wall_time = row.pop("seq"), row.pop("type"), float(row.pop("wall_time"))
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise DataError(f"{file}, line {number}: not an event of a league ({error!r}): {str(row)[:80]}") from error
    if type not in TYPES:
        raise DataError(f"{file}, line {number}: {_unknown(type)}")
    if seq != number - 1:
        raise DataError(f"{file}, line {number}: seq {seq}, must be {number - 1}; lines are missing or doubled")
    if type == "resumed" and not isinstance(row.get("from_seq"), int):
        raise DataError(f"{file}, line {number}: from_seq {row.get('from_seq')!r}, must be the seq of an earlier line")
    return LeagueEvent(seq, type, wall_time, row)
