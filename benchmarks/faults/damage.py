"""Damage that disks, editors, interrupted copies and other programs do to files, drawn from a seed."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Change = Callable[[bytes, random.Random], bytes]
BOMB_BYTES = 4 << 30
"""Size to which a bomb unpacks, or claims to."""


# --- Bytes of any file ----------------------------------------------------------------------------------------------------


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(1, max(2, len(data)))]


def _flip(data: bytes, draw: random.Random) -> bytes:
    place, changed = draw.randrange(len(data)), bytearray(data)
    changed[place] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _block(data: bytes, draw: random.Random) -> tuple[int, int]:
    start = draw.randrange(len(data))
    return start, min(len(data), start + draw.choice((1, 16, 512, 4096)))


def _zeros(data: bytes, draw: random.Random) -> bytes:
    start, stop = _block(data, draw)
    return data[:start] + bytes(stop - start) + data[stop:]


def _block_lost(data: bytes, draw: random.Random) -> bytes:
    start, stop = _block(data, draw)
    return data[:start] + data[stop:]


def _block_doubled(data: bytes, draw: random.Random) -> bytes:
    start, stop = _block(data, draw)
    return data[:stop] + data[start:]


EXECUTED = 77
"""Exit code of a process that ran the code in a file."""


class _Code:
    """What its pickle stands for: a call."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (EXECUTED,)


ANY: dict[str, Change] = {
    "cut off": _cut,
    "empty": lambda data, draw: b"",
    "bit flipped": _flip,
    "block of zeros": _zeros,
    "block lost": _block_lost,
    "block doubled": _block_doubled,
    "noise": lambda data, draw: draw.randbytes(draw.choice((1, 100, 10_000))),
    "tail added": lambda data, draw: data + draw.randbytes(50),
    "code": lambda data, draw: pickle.dumps(_Code(), draw.choice((2, 4))),
}


# --- Lines of text --------------------------------------------------------------------------------------------------------


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _line_lost(data: bytes, draw: random.Random) -> bytes:
    lines = _lines(data)
    del lines[draw.randrange(max(1, len(lines) - 1))]  # a log without its last line is merely shorter
    return b"".join(lines)


def _line_doubled(data: bytes, draw: random.Random) -> bytes:
    lines = _lines(data)
    place = draw.randrange(len(lines))
    return b"".join([*lines[: place + 1], *lines[place:]])


def _lines_swapped(data: bytes, draw: random.Random) -> bytes:
    lines = _lines(data)
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _lines_cut(data: bytes, draw: random.Random) -> bytes:
    lines = _lines(data)
    return b"".join(lines[: draw.randrange(1, max(2, len(lines)))])


def _bad_utf8(data: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + b"\xff\xfe" + data[place:]


LINES: dict[str, Change] = {
    "line lost": _line_lost,
    "line doubled": _line_doubled,
    "lines swapped": _lines_swapped,
    "lines cut off": _lines_cut,
}
TEXT: dict[str, Change] = {"bad UTF-8": _bad_utf8}


# --- Values of JSON -------------------------------------------------------------------------------------------------------

PUT = "put here"
VALUES = {
    "NaN": "NaN",
    "infinite": "-Infinity",
    "1e999": "1e999",
    "5,000 digits": "9" * 5000,
    "deep": "[" * 100_000 + "]" * 100_000,
    "negative": "-1",
    "huge": "1000000000000000000",
    "null": "null",
    "text": '"x"',
    "list": "[]",
    "object": "{}",
}
"""Name of a damage -> JSON text that replaces a value."""


def _paths(content: Any, so_far: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    found = [] if parts else [so_far]
    for name, part in list(parts)[:50]:
        found += _paths(part, (*so_far, name))
    return found


def _put(content: Any, path: tuple[Any, ...], text: str | None) -> str:
    """JSON with `text` at a path; None removes the field."""
    inner = content
    for name in path[:-1]:
        inner = inner[name]
    if text is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = PUT
    return json.dumps(content).replace(json.dumps(PUT), text or "")


def _value(text: str | None, by_line: bool) -> Change:
    def change(data: bytes, draw: random.Random) -> bytes:
        parts = _lines(data) if by_line else [data]
        place = draw.randrange(len(parts))
        content = json.loads(parts[place])
        paths = [path for path in _paths(content) if path]
        parts[place] = _put(content, draw.choice(paths), text).encode() + b"\n" * by_line
        return b"".join(parts)

    return change


def json_values(by_line: bool) -> dict[str, Change]:
    """Changes of one value, of a line or of the whole file."""
    return {name: _value(text, by_line) for name, text in VALUES.items()} | {"field lost": _value(None, by_line)}


def packed(changes: Mapping[str, Change]) -> dict[str, Change]:
    """Changes of the text within a gzip file, and a bomb."""

    def within(change: Change) -> Change:
        return lambda data, draw: gzip.compress(change(gzip.decompress(data), draw), 1)

    member = gzip.compress(b" " * (4 << 20), 9)
    return {name: within(change) for name, change in changes.items()} | {
        "bomb": lambda data, draw: data + member * (BOMB_BYTES >> 22)
    }


# --- Checkpoints ----------------------------------------------------------------------------------------------------------


def _split_checkpoint(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _join_checkpoint(header: str, tensors: bytes) -> bytes:
    return struct.pack("<Q", len(header.encode())) + header.encode() + tensors


def _outer_value(text: str) -> Change:
    """Change a value in the table of tensors."""

    def change(data: bytes, draw: random.Random) -> bytes:
        header, tensors = _split_checkpoint(data)
        paths = [path for path in _paths(header) if path and path[0] != "__metadata__"]
        return _join_checkpoint(_put(header, draw.choice(paths), text), tensors)

    return change


def _inner_value(text: str | None) -> Change:
    """Change a value in Ludory's header."""

    def change(data: bytes, draw: random.Random) -> bytes:
        header, tensors = _split_checkpoint(data)
        inner = json.loads(header["__metadata__"]["ludory"])
        header["__metadata__"]["ludory"] = _put(inner, draw.choice([path for path in _paths(inner) if path]), text)
        return _join_checkpoint(json.dumps(header), tensors)

    return change


def _weight(value: float) -> Change:
    def change(data: bytes, draw: random.Random) -> bytes:
        header, tensors = _split_checkpoint(data)
        wanted = [one for name, one in header.items() if name.startswith("policy/") and one["dtype"] == "F32"]
        start, stop = draw.choice(wanted)["data_offsets"]
        place = draw.randrange(start, max(start + 1, stop - 3), 4)
        return _join_checkpoint(json.dumps(header), tensors[:place] + struct.pack("<f", value) + tensors[place + 4 :])

    return change


CHECKPOINT_TABLE: dict[str, Change] = {
    f"tensors: {name}": _outer_value(VALUES[name]) for name in ("negative", "huge", "null", "text", "deep")
}
"""Changes of the table of any safetensors file."""
CHECKPOINT: dict[str, Change] = {
    **{f"header: {name}": _inner_value(text) for name, text in VALUES.items()},
    "header: field lost": _inner_value(None),
    **CHECKPOINT_TABLE,
    "weight NaN": _weight(float("nan")),
    "weight infinite": _weight(float("inf")),
    "weight changed": _weight(0.123),
}


# --- Arrays ---------------------------------------------------------------------------------------------------------------


def _npz(change: Callable[[dict[str, Any], random.Random], None]) -> Change:
    def changed(data: bytes, draw: random.Random) -> bytes:
        with np.load(io.BytesIO(data)) as archive:
            arrays = {name: archive[name] for name in archive.files}
        change(arrays, draw)
        target = io.BytesIO()
        np.savez_compressed(target, **arrays)
        return target.getvalue()

    return changed


def _field(arrays: Mapping[str, Any], draw: random.Random) -> str:
    kept = ("header", "key", "counter")
    return draw.choice(sorted(name for name in arrays if name not in kept and arrays[name].ndim))


def _extreme(arrays: dict[str, Any], draw: random.Random) -> None:
    name = _field(arrays, draw)
    array = arrays[name] = arrays[name].copy()
    limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    array.reshape(-1)[:] = draw.choice((limits.min, limits.max)) if limits else array.dtype.type(1e30)


def _to_move(arrays: dict[str, Any], draw: random.Random) -> None:
    arrays["to_move"] = np.full_like(arrays["to_move"], draw.choice((127, -128, 99)))


def _retyped(arrays: dict[str, Any], draw: random.Random) -> None:
    name = _field(arrays, draw)
    arrays[name] = arrays[name].astype(draw.choice(("float64", "int64", "U3")))


def _reshaped(arrays: dict[str, Any], draw: random.Random) -> None:
    name = _field(arrays, draw)
    arrays[name] = draw.choice((arrays[name][:0], arrays[name][..., None], np.repeat(arrays[name], 2, axis=0)))


def _array_lost(arrays: dict[str, Any], draw: random.Random) -> None:
    del arrays[_field(arrays, draw)]


def _said_to_be_large(data: bytes, draw: random.Random) -> bytes:
    """An array whose header claims gigabytes, followed by few bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = draw.choice([name for name in names if name != "header.npy"])
        for name in names:
            with new.open(name, "w") as handle:
                if name == chosen:
                    shape = {"descr": "|i1", "fortran_order": False, "shape": (BOMB_BYTES,)}
                    np.lib.format.write_array_header_1_0(handle, shape)
                    handle.write(bytes(1 << 20))
                else:
                    handle.write(old.read(name))
    return target.getvalue()


ARRAYS: dict[str, Change] = {
    "to_move outside": _npz(_to_move),
    "extreme values": _npz(_extreme),
    "other dtype": _npz(_retyped),
    "other shape": _npz(_reshaped),
    "array lost": _npz(_array_lost),
    "bomb": _said_to_be_large,
}


# --- Tables ---------------------------------------------------------------------------------------------------------------


def _table(change: Callable[[pa.Table, random.Random], pa.Table]) -> Change:
    def changed(data: bytes, draw: random.Random) -> bytes:
        file = pq.ParquetFile(io.BytesIO(data))
        table = file.read().replace_schema_metadata(file.schema_arrow.metadata)
        target = pa.BufferOutputStream()
        pq.write_table(change(table, draw), target, compression="zstd", write_page_checksum=True)
        return bytes(target.getvalue())

    return changed


def _column(table: pa.Table, draw: random.Random) -> tuple[int, pa.Field, list[Any]]:
    place = draw.randrange(table.num_columns)
    return place, table.schema.field(place), table.column(place).to_pylist()


def _with_value(value: Any, required: bool = False) -> Change:
    """Replace one value of a numeric column, or any value by null; `required`: of a column that is not nullable."""

    def change(table: pa.Table, draw: random.Random) -> pa.Table:
        numbers = [
            k for k, one in enumerate(table.schema.types) if pa.types.is_integer(one) or pa.types.is_floating(one)
        ]
        allowed = numbers if value is not None else range(table.num_columns)
        strict = [k for k in allowed if required and not table.schema.field(k).nullable]
        place = draw.choice(strict or allowed)
        one, values = table.schema.field(place), table.column(place).to_pylist()
        values[draw.randrange(len(values))] = value
        try:
            array = pa.array(values, one.type)
        except (pa.ArrowInvalid, TypeError, OverflowError):  # the value does not fit: widen the column
            array = pa.array([None if v is None else float(v) for v in values], pa.float64())
        return table.set_column(place, one.with_type(array.type).with_nullable(True), array)

    return _table(change)


def _column_lost(table: pa.Table, draw: random.Random) -> pa.Table:
    return table.remove_column(draw.randrange(table.num_columns))


def _column_of_text(table: pa.Table, draw: random.Random) -> pa.Table:
    place, one, values = _column(table, draw)
    return table.set_column(place, one.with_type(pa.string()), pa.array(list(map(str, values))))


def _row_lost(table: pa.Table, draw: random.Random) -> pa.Table:
    place = draw.randrange(table.num_rows)
    return pa.concat_tables([table.slice(0, place), table.slice(place + 1)])


def _row_doubled(table: pa.Table, draw: random.Random) -> pa.Table:
    place = draw.randrange(table.num_rows)
    return pa.concat_tables([table.slice(0, place + 1), table.slice(place)])


TABLE: dict[str, Change] = {
    "null": _with_value(None),
    "null for a value": _with_value(None, required=True),
    "NaN": _with_value(float("nan"), required=True),
    "huge": _with_value(10**9),
    "negative": _with_value(-(10**6)),
    "column lost": _table(_column_lost),
    "column of text": _table(_column_of_text),
    "row lost": _table(_row_lost),
    "row doubled": _table(_row_doubled),
}


# --- Places -----------------------------------------------------------------------------------------------------------------


def _folder(file: Path) -> None:
    file.mkdir()


def _loop(file: Path) -> None:
    file.symlink_to(file.name)


PLACES: dict[str, Callable[[Path], None]] = {
    "a folder": _folder,
    "a link to itself": _loop,
    "missing": lambda file: None,
}
"""What may be found in place of a file."""
