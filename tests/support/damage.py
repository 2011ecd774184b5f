"""Ways to damage a file, drawn from a seed: a reader says what is wrong with the result, or reads what cannot be told from a good file."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ludory.reading import GZIP_MAGIC

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
VALUES = (
    b"NaN",
    b"Infinity",
    b"1e999",
    b"-0",
    b"-1",
    b"null",
    b"true",
    b'"x"',
    b"[]",
    b"{}",
    b"1e30",
    b"0.5",
    b"4294967296",
    b"9" * 30,
    b"9" * 400,
    b"9" * 5000,
    b"[" * 40 + b"]" * 40,
    b"[" * 100_000,
)
"""What a number of a text is replaced by."""


class Damaged(NamedTuple):
    """A damaged file."""

    how: str
    data: bytes


def damaged_bytes(data: bytes, draws: np.random.Generator, count: int) -> Iterator[Damaged]:
    """`count` damages that know nothing of what the file is: cut, a bit flipped, bytes zeroed, doubled or taken out; and three total ones."""
    yield Damaged("empty", b"")
    yield Damaged("nothing but zeros", bytes(len(data)))
    yield Damaged("something appended", data + b"\0more")
    for _ in range(count):
        start, length = int(draws.integers(len(data))), int(draws.integers(1, 64))
        yield _of_bytes(data, start, min(start + length, len(data)), draws)


def _of_bytes(data: bytes, start: int, stop: int, draws: np.random.Generator) -> Damaged:
    flipped = bytes([data[start] ^ 1 << int(draws.integers(8))])
    place = f"bytes {start}..{stop}"
    ways = (
        Damaged(f"cut after {start} bytes", data[:start]),
        Damaged(f"a bit of byte {start} flipped", data[:start] + flipped + data[start + 1 :]),
        Damaged(f"{place} zeroed", data[:start] + bytes(stop - start) + data[stop:]),
        Damaged(f"{place} twice", data[:stop] + data[start:]),
        Damaged(f"{place} taken out", data[:start] + data[stop:]),
    )
    return ways[int(draws.integers(len(ways)))]


def damaged_text(data: bytes, draws: np.random.Generator, count: int) -> Iterator[Damaged]:
    """`count` damages of a text of lines, also inside gzip: lines lost, doubled or swapped, numbers replaced, bytes that are no UTF-8."""
    packed = data.startswith(GZIP_MAGIC)
    text = gzip.decompress(data) if packed else data
    for how, result in _of_text(text, draws, count):
        yield Damaged(how, gzip.compress(result, 1) if packed else result)


def _of_text(text: bytes, draws: np.random.Generator, count: int) -> Iterator[Damaged]:
    lines, numbers = text.splitlines(keepends=True), list(NUMBER.finditer(text))
    yield Damaged("a byte-order mark", b"\xef\xbb\xbf" + text)
    yield Damaged("CR LF", text.replace(b"\n", b"\r\n"))
    for _ in range(count):
        k, other = (int(one) for one in draws.integers(len(lines), size=2))
        at, way = int(draws.integers(len(text))), int(draws.integers(12))
        number, value = numbers[int(draws.integers(len(numbers)))], VALUES[int(draws.integers(len(VALUES)))]
        if way == 0:
            yield Damaged(f"line {k} lost", b"".join(lines[:k] + lines[k + 1 :]))
        elif way == 1:
            yield Damaged(f"line {k} twice", b"".join(lines[: k + 1] + lines[k:]))
        elif way == 2:
            swapped = list(lines)
            swapped[k], swapped[other] = lines[other], lines[k]
            yield Damaged(f"lines {k} and {other} swapped", b"".join(swapped))
        elif way == 3:
            yield Damaged(f"line {k} ends early", b"".join([*lines[:k], lines[k][: len(lines[k]) // 2], b"\n"]))
        elif way in (4, 5):
            byte = b"\xff" if way == 4 else b"\0"
            yield Damaged(f"byte {at} is {byte!r}", text[:at] + byte + text[at + 1 :])
        else:
            start, stop = number.span()
            yield Damaged(f"the number at {start} is {value[:12]!r}", text[:start] + value + text[stop:])
