"""Logs of JSON objects, one a line, each with a checksum of all lines so far: lost, doubled, swapped and changed lines are noticed.

A line that a kill cut off is no line: the next one is written below it, and readers leave it out.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .errors import DataError
from .reading import JsonError, parse_json, shown

SUM = "sum"


class JsonLog(NamedTuple):
    """The lines of a log."""

    entries: list[dict[str, Any]]
    sum: int | None
    """Checksum of them all; None: the log is of an earlier version, which wrote none."""


def read_log(file: Path) -> JsonLog:
    """Read a log.

    Raises:
        DataError: it is damaged.
        OSError: it cannot be read.
    """
    entries: list[dict[str, Any]] = []
    total: int | None = 0
    lines = file.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            entry = parse_json(line, finite=True)
        except JsonError as error:
            if line and number == len(lines) - 1:  # it ends like a whole line
                raise DataError(f"{file}, line {number}: damaged ({error}); put a copy of the file back") from error
            # cut off by a kill; if more is lost, the sums of later lines tell
            continue
        if not isinstance(entry, dict):
            raise DataError(
                f"{file}, line {number}: got {shown(entry)}, must be a JSON object; put a copy of the file back"
            )
        known = entry.pop(SUM, None)
        # the first line tells whether the log has sums
        if not entries and known is None:
            total = None
        total = sum_of(total, entry)
        if total is not None and known != total:
            raise DataError(
                f"{file}, line {number}: damaged: it or a line before it is not as it was written; put a copy of the file back"
            )
        entries.append(entry)
    return JsonLog(entries, total)


def sum_of(before: int | None, entry: Mapping[str, Any]) -> int | None:
    """The checksum after another entry."""
    return None if before is None else zlib.crc32(json.dumps(entry).encode(), before)


def line_of(before: int | None, entry: Mapping[str, Any]) -> str:
    """The line of an entry that follows lines with the checksum `before`."""
    known = {} if before is None else {SUM: sum_of(before, entry)}
    return json.dumps({**entry, **known}, separators=(",", ":")) + "\n"


def append_lines(file: Path, lines: str) -> None:
    """Write whole lines at the end of a log, in one piece.

    Raises:
        OSError: the file cannot be written to.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        if os.lseek(descriptor, 0, os.SEEK_END):
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":  # a writer was killed within a line
                lines = "\n" + lines
        os.write(descriptor, lines.encode())
    finally:
        os.close(descriptor)
