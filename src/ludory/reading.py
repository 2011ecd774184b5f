"""Reading untrusted files: limits on unpacked sizes, and JSON with one kind of error for all defects."""

from __future__ import annotations

import json
import math
import os
import tempfile
import zlib
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile, ZipFile, is_zipfile

from .errors import DataError, OptionError

if TYPE_CHECKING:  # not needed to read JSON: importing it takes time
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray

__all__ = [
    "JsonError",
    "Unpacked",
    "check_finite",
    "check_plain",
    "check_zip",
    "parse_json",
    "read_json",
    "read_npz",
    "shown",
    "unpacked",
]

VARIABLE = "LUDORY_MAX_UNPACKED_MIB"
"""Environment variable with the limit on the unpacked size of a file."""
DEFAULT_MIB = 512
MOST_NUMBER = 1 << 63
MOST_DEPTH = 32
"""Limit on nested lists and objects."""
GZIP_MAGIC = b"\x1f\x8b"
# zlib's number for the gzip format
_GZIP = 16 + zlib.MAX_WBITS
_CHUNK = 1 << 14
"""A chunk of gzip data unpacks to at most 1,032 times its size."""
_IN_MEMORY = 1 << 24


def most_unpacked() -> int:
    """Limit in bytes on the unpacked size of a file.

    Raises:
        OptionError: the environment variable is not a number of at least 1.
    """
    said = os.environ.get(VARIABLE, str(DEFAULT_MIB))
    if not said.isdecimal() or not 0 < len(said) <= 9 or int(said) < 1:
        raise OptionError(
            f"{VARIABLE}={said[:40]!r}: must be a number of mebibytes, at least 1; the default is {DEFAULT_MIB}"
        )
    return int(said) << 20


def limit_words() -> str:
    """Words for the limit and how to raise it."""
    return f"at most {most_unpacked() >> 20:,} MiB unpacked; if you trust the file, set the environment variable {VARIABLE} to more"


def check_unpacked(file: object, size: int) -> None:
    """Refuse a file with an unpacked size above the limit.

    Raises:
        DataError: the message names the file, the limit and the variable that raises it.
    """
    if size > most_unpacked():
        raise DataError(f"{file}: got more, must be {limit_words()}")


class Unpacked(NamedTuple):
    """The unpacked part of a file."""

    handle: IO[bytes]
    """At the first byte; the caller closes it."""
    flaw: str
    """Why this is not the whole file; empty if it is."""


def unpacked(file: str | Path) -> Unpacked:
    """Open a file, unpacked if it is gzip.

    Raises:
        OSError: the file cannot be read.
    """
    handle = Path(file).open("rb")  # noqa: SIM115
    if handle.peek(2)[:2] != GZIP_MAGIC:
        return Unpacked(handle, "")
    copy: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    with handle:
        flaw = _unpack(handle, copy)
    copy.seek(0)
    return Unpacked(copy, flaw)


def _unpack(packed: IO[bytes], target: IO[bytes]) -> str:
    """Copy what can be unpacked; returns why this is not everything, or ""."""
    left, member, data = most_unpacked(), zlib.decompressobj(_GZIP), packed.read(_CHUNK)
    while data:
        try:
            text = member.decompress(data)
        except zlib.error:
            return "damaged gzip data"
        left -= len(text)
        if left < 0:
            return f"gzip data that unpack to more than {limit_words()}"
        target.write(text)
        # gzip files may be joined: the next member begins where this one ends
        data = packed.read(_CHUNK) if not member.eof else member.unused_data + packed.read(_CHUNK)
        if member.eof and data:
            if not data.startswith(GZIP_MAGIC):
                rest = data.strip(b"\0") or packed.read().strip(b"\0")  # gzip allows padding
                return "gzip data followed by something else" if rest else ""
            member = zlib.decompressobj(_GZIP)
    return "" if member.eof else "gzip data that are cut off"


def check_zip(file: str | Path | IO[bytes], name: object = None, sums: bool = False) -> None:
    """Refuse a zip archive, such as those of `torch.save` and `numpy.savez`, whose members unpack to more than the limit.

    Args:
        file: any file; files that are not archives pass.
        name: name of the file in messages.
        sums: compare every member with its checksum, which `torch.load` does not.

    Raises:
        DataError: the message names the file, the limit and the variable that raises it; or a member is not as it was written.
        BadZipFile: the archive is damaged.
    """
    if is_zipfile(file):
        with ZipFile(file) as archive:
            check_unpacked(name or file, sum(member.file_size for member in archive.infolist()))
            if sums and (changed := archive.testzip()):
                raise DataError(
                    f"{name or file}: damaged: {changed!r} does not have its checksum; put a copy of the file back"
                )


def read_member(archive: ZipFile, name: str) -> bytes:
    """Unpack a member of a zip archive.

    Raises:
        DataError: the member is larger than the limit.
        KeyError, BadZipFile: the member is missing or damaged.
    """
    with archive.open(name) as member:
        # a byte too many tells that there are more
        data = member.read(most_unpacked() + 1)
    check_unpacked(archive.filename, len(data))
    return data


def read_npz(file: str | Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a `numpy.savez` file; memory is allocated only for data that the file really holds.

    Raises:
        DataError: the arrays are larger than the limit.
        OSError, ValueError: the file is missing or damaged.
    """
    try:
        return _read_npz(file)
    except (
        BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        RuntimeError,
    ) as error:  # the last: encrypted, or packed in another way
        raise ValueError(f"damaged archive ({error})") from error


def _read_npz(file: str | Path) -> dict[str, NDArray[Any]]:
    import numpy as np

    check_zip(file)
    found: dict[str, NDArray[Any]] = {}
    with ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as handle:
                try:
                    version = np.lib.format.read_magic(handle)
                    one, two = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
                    shape, by_column, dtype = (one if version == (1, 0) else two)(handle)
                except (SyntaxError, TokenError, TypeError) as error:  # raised by its parser
                    raise ValueError(f"{member.filename}: damaged ({error})") from error
                data = handle.read(member.file_size)
            # in Python's integers: sizes that somebody made up overflow int64
            if dtype.hasobject or len(data) != dtype.itemsize * int(np.prod(shape, dtype=object)):
                raise ValueError(f"{member.filename}: {len(data)} bytes are no {dtype} {shape}")
            array = np.frombuffer(data, dtype).reshape(shape, order="F" if by_column else "C")
            found[member.filename.removesuffix(".npy")] = array
    return found


class JsonError(ValueError):
    """A text is not JSON; `cut`: it may be the beginning of JSON."""

    def __init__(self, reason: str, cut: bool = False) -> None:
        super().__init__(reason)
        self.cut = cut


def parse_json(text: bytes | str, finite: bool = False) -> Any:
    """Parse a JSON text; bytes may begin with a byte-order mark.

    finite: refuse NaN and infinite numbers, which Python's parser takes.

    Raises:
        JsonError: the text is not UTF-8 or not JSON, is nested more than `MOST_DEPTH` deep, or has a number with thousands of digits.
    """
    try:
        plain = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = json.loads(plain, **_FINITE) if finite else json.loads(plain)
    except JsonError:
        raise
    except UnicodeDecodeError as error:
        raise JsonError(f"no UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        # the parser came to the end, or to a string without an end
        cut = error.pos >= len(plain.rstrip()) or error.msg.startswith("Unterminated")
        raise JsonError(f"invalid JSON ({error.msg} at line {error.lineno} column {error.colno})", cut) from error
    except RecursionError as error:
        raise JsonError(_TOO_DEEP) from error
    except ValueError as error:
        raise JsonError("invalid JSON (a number of thousands of digits)") from error
    # not deeper than it has brackets, so that most texts need no second look
    if plain.count("[") + plain.count("{") > MOST_DEPTH and _is_deep(value):
        raise JsonError(_TOO_DEEP)
    return value


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise JsonError(f"invalid JSON ({text[:40]} is not a finite number)")
    return number


_FINITE: Any = {"parse_constant": _finite, "parse_float": _finite}
_TOO_DEEP = f"invalid JSON (lists or objects nested more than {MOST_DEPTH} deep)"


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one if isinstance(one, list) else one.values())
            if isinstance(inner, list | dict)
        ]
        if not level:
            return False
    return True


def read_json(file: str | Path, finite: bool = False) -> Any:
    """Read a JSON file; `finite` as of `parse_json`.

    Raises:
        OSError: the file cannot be read.
        JsonError: as `parse_json`, or the file is larger than `most_unpacked`.
    """
    with Path(file).open("rb") as handle:
        text = handle.read(most_unpacked() + 1)
    if len(text) > most_unpacked():
        raise JsonError(f"more than {limit_words()}")
    return parse_json(text, finite)


def check_plain(record: DataclassInstance, but: Collection[str] = ()) -> None:
    """Check that the int, float, str and bool fields of a dataclass have their types and are finite; `but` names fields to skip.

    Raises:
        TypeError: the message names the field.
    """
    for part in fields(record):
        if part.name in but:
            continue
        value, kind = getattr(record, part.name), str(part.type)
        kinds = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}[kind]
        if type(value) not in kinds or (kind in ("int", "float") and not abs(value) <= MOST_NUMBER):
            raise TypeError(f"{part.name} is {shown(value)}, must be a {kind}")


def check_finite(value: object, name: str) -> None:
    """Refuse NaN and infinite numbers at any depth of a JSON value.

    Raises:
        TypeError: the message names the place below `name`.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            check_finite(part, f"{name}.{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            check_finite(part, f"{name}[{place}]")
    elif isinstance(value, int | float) and not abs(value) <= MOST_NUMBER:
        raise TypeError(f"{name} is {shown(value)}, must be a finite number")


def shown(value: object, most: int = 80) -> str:
    """`repr` of a value, cut after `most` characters."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
