"""Files of JSON lines, read up to the first broken line; `Flaw` says what is wrong, `Flaws` stops at the first one or lists all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from ludory.data.formats.json_fields import FieldError
from ludory.errors import DataError
from ludory.reading import GZIP_MAGIC, JsonError, Unpacked, parse_json, unpacked

SHOWN = 80
"""Number of characters shown of a broken line."""


class Flaw(NamedTuple):
    """What is wrong, and where."""

    path: str
    line: int | None
    """Counted from 1; None: the whole file."""
    field: str
    """Path of the field in the line, such as "observation.self_state.hp"."""
    got: str
    wanted: str

    def __str__(self) -> str:
        """One line that names path, line and field."""
        place = "" if self.line is None else f", line {self.line}"
        return f"{self.path}{place}, field {self.field!r}: got {self.got}, must be {self.wanted}"


class Flaws:
    """The flaws of some files.

    Args:
        skip_bad: list them in `found` instead of stopping at the first one.
    """

    def __init__(self, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self.found: list[Flaw] = []

    def add(self, path: str | Path, line: int | None, field: str, got: str, wanted: str) -> None:
        """Note a flaw.

        Raises:
            DataError: `skip_bad` is not set; its `problem` is the `Flaw`.
        """
        flaw = Flaw(str(path), line, field, got, wanted)
        if not self.skip_bad:
            raise DataError(flaw)
        self.found.append(flaw)

    def add_field(self, path: str | Path, line: int, error: FieldError) -> None:
        """Note a wrong field of a line; raises as `add` does."""
        self.add(path, line, error.field, error.got, error.wanted)


class JsonLine(NamedTuple):
    """An object and the number of its line, counted from 1."""

    number: int
    content: dict[str, Any]


def json_lines(file: str | Path, flaws: Flaws, *, packed: bool, go_on: bool = False) -> Iterator[JsonLine]:
    """Yield the objects of a UTF-8 file with one object per line; a byte-order mark and empty lines are allowed.

    Args:
        file: to read.
        flaws: receives what is wrong. Iteration then ends; the lines before it have been yielded.
        packed: whether the file is compressed with gzip.
        go_on: skip a broken line and continue, for files whose lines are independent.
    """
    try:
        with Path(file).open("rb") as whole:
            # the beginning is read apart: messages show what the file begins with
            start = whole.read(SHOWN)
        if packed and start and not start.startswith(GZIP_MAGIC):
            flaws.add(file, 1, "line", f"no gzip data: {_start(start)}", "a whole gzip file")
            return
        handle, broken = unpacked(file) if packed else Unpacked(Path(file).open("rb"), "")  # noqa: SIM115
    except OSError as error:
        flaws.add(file, None, "file", error.strerror or str(error), "a file that can be read")
        return
    if not start:
        handle.close()
        flaws.add(file, None, "file", "an empty file", "at least one JSON object on a line")
        return
    with handle:
        yield from _objects(file, handle, broken, flaws, go_on)


def _objects(file: str | Path, handle: IO[bytes], broken: str, flaws: Flaws, go_on: bool) -> Iterator[JsonLine]:
    """The objects up to the first broken line, or up to where the file itself is `broken`."""
    number, some, tail = 1, False, b""
    for number, line in enumerate(handle, 1):
        # the last line of a truncated gzip file may be cut anywhere
        if broken and not line.endswith(b"\n"):
            tail = line
            break
        found, reason = _parsed(line, first=number == 1)
        if reason:
            flaws.add(file, number, "line", f"{reason}: {_start(line)}", "one JSON object")
            some = True
            if go_on:
                continue
            return
        if found is not None:
            some = True
            yield JsonLine(number, found)
    else:
        # the flaw is behind the last line
        number += some
    if broken:
        flaws.add(file, number, "line", f"{broken}: {_start(tail)}" if tail else broken, "a whole gzip file")
    elif not some:
        flaws.add(file, None, "file", "only empty lines", "at least one JSON object on a line")


def _parsed(line: bytes, first: bool) -> tuple[dict[str, Any] | None, str]:
    """The object of a line (None if the line is empty) and what is wrong with it."""
    try:
        # only the first line can begin with a byte-order mark
        text = line.decode("utf-8-sig" if first else "utf-8").strip()
    except UnicodeDecodeError:
        return None, "no UTF-8"
    if not text:
        return None, ""
    try:
        value = parse_json(text)
    except JsonError as error:
        return None, str(error)
    return (value, "") if isinstance(value, dict) else (None, f"a {type(value).__name__}, not an object")


def _start(line: bytes) -> str:
    return repr(line.decode("utf-8", "replace").strip()[:SHOWN])
