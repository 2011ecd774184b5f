"""JSON objects of a file, one a line, up to the first line that is broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from ludory.reading import GZIP_MAGIC, JsonError, Unpacked, parse_json, unpacked

from .flaw import Flaws

SHOWN = 80
"""So many characters of a broken line are shown."""


class JsonLine(NamedTuple):
    """An object and the number of its line, counted from 1."""

    number: int
    content: dict[str, Any]


def json_lines(file: str | Path, flaws: Flaws, *, packed: bool, go_on: bool = False) -> Iterator[JsonLine]:
    """The objects of a file of UTF-8 text, a byte-order mark and empty lines allowed.

    Args:
        file: to read.
        flaws: told of what is wrong; then no line follows, what stands before was given out.
        packed: gzip, or plain text.
        go_on: leave out a broken line only, for files whose lines have nothing to do with each other.
    """
    try:
        with Path(file).open("rb") as whole:
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
    """The objects up to the first broken line, or to what is `broken` about the whole file."""
    number, some, tail = 1, False, b""
    for number, line in enumerate(handle, 1):
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
        number += some
    if broken:
        flaws.add(file, number, "line", f"{broken}: {_start(tail)}" if tail else broken, "a whole gzip file")
    elif not some:
        flaws.add(file, None, "file", "only empty lines", "at least one JSON object on a line")


def _parsed(line: bytes, first: bool) -> tuple[dict[str, Any] | None, str]:
    """The object of a line, None if it is empty; and what is wrong with it."""
    try:
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
