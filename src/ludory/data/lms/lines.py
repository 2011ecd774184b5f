"""JSON objects of a file, one a line, up to the first line that is broken."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .flaw import Flaws

GZIP = 16 + zlib.MAX_WBITS
MAGIC = b"\x1f\x8b"
CHUNK = 1 << 16
SHOWN = 80
"""So many characters of a broken line are shown."""


class Line(NamedTuple):
    """An object and the number of its line, counted from 1."""

    number: int
    content: dict[str, Any]


def json_lines(file: str | Path, flaws: Flaws, *, packed: bool, go_on: bool = False) -> Iterator[Line]:
    """The objects of a file of UTF-8 text, a byte-order mark and empty lines allowed.

    Args:
        file: to read.
        flaws: told of what is wrong; then no line follows, what stands before was given out.
        packed: gzip, or plain text.
        go_on: leave out a broken line only, for files whose lines have nothing to do with each other.
    """
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        flaws.add(file, None, "file", error.strerror or str(error), "a file that can be read")
        return
    if not data:
        flaws.add(file, None, "file", "an empty file", "at least one JSON object on a line")
        return
    text, broken = _unpacked(data) if packed else (data, "")
    number, some = 0, False
    for number, (line, whole) in enumerate(_lines(text), 1):
        if broken and not whole:
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
            yield Line(number, found)
    if broken:
        number = text.count(b"\n") + 1
        flaws.add(file, number, "line", f"{broken}: {_start(_tail(text) or data)}", "a whole gzip file")
    elif not some:
        flaws.add(file, None, "file", "only empty lines", "at least one JSON object on a line")


def _unpacked(data: bytes) -> tuple[bytes, str]:
    """What can be unpacked of gzip data, and why that is not all."""
    parts: list[bytes] = []
    while data:
        if not data.startswith(MAGIC):
            if not data.strip(b"\0"):  # padding that gzip allows
                break
            return b"".join(parts), "gzip data followed by something else" if parts else "no gzip data"
        member = zlib.decompressobj(GZIP)
        for start in range(0, len(data), CHUNK):
            try:
                parts.append(member.decompress(data[start : start + CHUNK]))
            except zlib.error:
                return b"".join(parts), "damaged gzip data"
            if member.eof:
                data = member.unused_data + data[start + CHUNK :]
                break
        else:
            return b"".join([*parts, member.flush()]), "gzip data that are cut off"
    return b"".join(parts), ""


def _lines(text: bytes) -> Iterator[tuple[bytes, bool]]:
    """Every line, and whether it ends as a line does."""
    parts = text.split(b"\n")
    yield from ((part, True) for part in parts[:-1])
    if parts[-1]:
        yield parts[-1], False


def _tail(text: bytes) -> bytes:
    return text[text.rfind(b"\n") + 1 :]


def _parsed(line: bytes, first: bool) -> tuple[dict[str, Any] | None, str]:
    """The object of a line, None if it is empty; and what is wrong with it."""
    try:
        text = line.decode("utf-8-sig" if first else "utf-8").strip()
    except UnicodeDecodeError:
        return None, "no UTF-8"
    if not text:
        return None, ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also of numbers with thousands of digits
        return None, f"invalid JSON ({getattr(error, 'msg', type(error).__name__)})"
    return (value, "") if isinstance(value, dict) else (None, f"a {type(value).__name__}, not an object")


def _start(line: bytes) -> str:
    return repr(line.decode("utf-8", "replace").strip()[:SHOWN])
