"""The Parquet schema of trajectories, with one row per decision, and its columns as arrays.

| column | type | meaning |
| --- | --- | --- |
| `game` | int64 | rows of a game are consecutive, in the order of its moves |
| `seed` | int64, may be null | of the game's random draws |
| `step`, `seat` | int32, int8 | number of the move in the game; the deciding seat |
| `observation` | fixed_size_binary or fixed_size_list of float32 | 0/1 observations as bits (order of `numpy.packbits`), others as floats |
| `mask` | fixed_size_binary | legal values of all heads in turn, as bits |
| `action_<head>` | int32 | the value chosen |
| `log_prob_<head>` | float32, may be null | its log-probability under the behaviour policy |
| `reward` | float32 | of the seat, from this decision to its next one or to the end |
| `terminated`, `truncated` | bool | how the game ended, on a seat's last decision |
| extra columns | as in the header | `weight` is the sample weight; `used` says of each head whether it had an effect, if the game knows |
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .header import ExtraColumn, TrajectoryHeader, header_to_json

METADATA_KEY = b"ludory_trajectories"
UNKNOWN_SEED = -1
"""In the column `seed` of games that cannot be dealt again."""
WEIGHT = ExtraColumn("weight", "float32")
"""How much a decision counts in training."""
START = ExtraColumn("start", "string")
"""Reset options of the game as JSON, such as a deck; with them a game without a seed can be played again."""
USED = "used"
"""Name of a column of H bool: whether another value of a head could have changed what happens; see `Engine.used`."""


class Columns(NamedTuple):
    """m decisions as NumPy arrays."""

    games: NDArray[np.int64]
    """(m,)"""
    seeds: NDArray[np.int64]
    """(m,), `UNKNOWN_SEED` where unknown."""
    steps: NDArray[np.int64]
    seats: NDArray[np.int64]
    observations: NDArray[Any]
    """(m, bytes) uint8 or (m, size) float32."""
    masks: NDArray[np.uint8]
    """(m, bytes)"""
    actions: NDArray[np.int64]
    """(m, H)"""
    log_probs: NDArray[np.float32]
    """(m, H), NaN where unknown."""
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    extras: dict[str, Any]
    """Arrays (m,) or (m, size), or lists of str, by name; None in an object array stands for null."""


def schema_of(header: TrajectoryHeader) -> pa.Schema:
    """The Arrow schema, with the header as metadata."""
    if header.observation.bits:
        seen: pa.DataType = pa.binary(header.observation_bytes)
    else:
        seen = pa.list_(pa.float32(), header.observation.size)
    parts = [
        pa.field("game", pa.int64(), nullable=False),
        pa.field("seed", pa.int64()),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("seat", pa.int8(), nullable=False),
        pa.field("observation", seen, nullable=False),
        pa.field("mask", pa.binary(header.mask_bytes), nullable=False),
        *(pa.field(f"action_{name}", pa.int32(), nullable=False) for name in header.head_names),
        *(pa.field(f"log_prob_{name}", pa.float32()) for name in header.head_names),
        pa.field("reward", pa.float32(), nullable=False),
        pa.field("terminated", pa.bool_(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
        *(pa.field(extra.name, _extra_type(extra)) for extra in header.extra_columns),
    ]
    return pa.schema(parts, {METADATA_KEY: json.dumps(header_to_json(header)).encode()})


def used_column(heads: int) -> ExtraColumn:
    """`USED` of a game with that many heads."""
    return ExtraColumn(USED, "bool", heads)


def required_columns(header: TrajectoryHeader) -> list[str]:
    """Names of the columns without missing values."""
    return [part.name for part in schema_of(header) if not part.nullable]


def _extra_type(extra: ExtraColumn) -> pa.DataType:
    plain = {
        "bool": pa.bool_(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float32": pa.float32(),
        "string": pa.string(),
    }[extra.kind]
    return pa.list_(plain, extra.size) if extra.size else plain


def to_table(columns: Columns, header: TrajectoryHeader) -> pa.Table:
    """The columns as an Arrow table of `schema_of(header)`."""
    schema = schema_of(header)
    heads = range(len(header.heads))
    arrays = [
        pa.array(columns.games),
        pa.array(columns.seeds, mask=columns.seeds == UNKNOWN_SEED),
        pa.array(columns.steps.astype(np.int32)),
        pa.array(columns.seats.astype(np.int8)),
        _binary(columns.observations)
        if header.observation.bits
        else pa.FixedSizeListArray.from_arrays(
            pa.array(np.ascontiguousarray(columns.observations, np.float32).ravel()), header.observation.size
        ),
        _binary(columns.masks),
        *(pa.array(columns.actions[:, head].astype(np.int32)) for head in heads),
        *(_with_nulls(columns.log_probs[:, head]) for head in heads),
        pa.array(columns.rewards.astype(np.float32)),
        pa.array(columns.terminated),
        pa.array(columns.truncated),
        *(_extra_array(extra, columns.extras[extra.name]) for extra in header.extra_columns),
    ]
    return pa.table(arrays, schema=schema)


def _binary(rows: NDArray[Any]) -> pa.Array:
    """(m, w) uint8 as fixed-size binary without copying."""
    data = np.ascontiguousarray(rows, np.uint8)
    return pa.Array.from_buffers(pa.binary(data.shape[1]), len(data), [None, pa.py_buffer(data)])


def _with_nulls(values: NDArray[Any]) -> pa.Array:
    return pa.array(values.astype(np.float32), mask=np.isnan(values))


def _extra_array(extra: ExtraColumn, values: Any) -> pa.Array:
    if extra.size:
        flat = np.ascontiguousarray(values, extra.kind).reshape(len(values), extra.size)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), extra.size)
    return pa.array(values, type=_extra_type(extra))


def from_table(table: pa.Table, header: TrajectoryHeader, extras: Sequence[str] = ()) -> Columns:
    """The columns of a table of `schema_of(header)`, with `weight` and the extra columns named in `extras`, as float32 (m, size or 1).

    Missing values read as 0, NaN or UNKNOWN_SEED; in the named columns as NaN.
    """
    named = {name: _one_chunk(table, name) for name in table.column_names if name in extras or _is_read(name, header)}
    seen = named["observation"]
    return Columns(
        games=_numbers(named["game"], np.int64),
        seeds=_numbers(named["seed"], np.int64, UNKNOWN_SEED),
        steps=_numbers(named["step"], np.int64),
        seats=_numbers(named["seat"], np.int64),
        observations=_bytes_of(seen) if header.observation.bits else _floats_of(seen),
        masks=_bytes_of(named["mask"]),
        actions=np.stack([_numbers(named[f"action_{name}"], np.int64) for name in header.head_names], 1),
        log_probs=np.stack([_numbers(named[f"log_prob_{name}"], np.float32) for name in header.head_names], 1),
        rewards=_numbers(named["reward"], np.float32),
        terminated=_numbers(named["terminated"], np.bool_),
        truncated=_numbers(named["truncated"], np.bool_),
        extras={name: _as_floats(named[name]) for name in extras}
        | ({WEIGHT.name: _numbers(named[WEIGHT.name], np.float32)} if WEIGHT.name in named else {}),
    )


def _as_floats(array: pa.Array) -> NDArray[np.float32]:
    """(m, size) of lists, (m, 1) of plain numbers."""
    if pa.types.is_fixed_size_list(array.type):
        return _floats_of(array).astype(np.float32, copy=False)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    values = array.to_numpy(zero_copy_only=False)
    return np.asarray(values).astype(np.float32)[:, None]


def _is_read(name: str, header: TrajectoryHeader) -> bool:
    return name == WEIGHT.name or name not in {extra.name for extra in header.extra_columns}


def _one_chunk(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name).combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column


def _numbers(array: pa.Array, dtype: Any, missing: Any = 0) -> NDArray[Any]:
    if array.null_count and array.type != pa.float32():
        array = pc.fill_null(
            array, pa.scalar(bool(missing) if pa.types.is_boolean(array.type) else missing, array.type)
        )
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(dtype, copy=False)


def _bytes_of(array: pa.Array) -> NDArray[np.uint8]:
    width = array.type.byte_width
    data = np.frombuffer(array.buffers()[1], np.uint8, len(array) * width, array.offset * width)
    return data.reshape(len(array), width)


def _floats_of(array: pa.FixedSizeListArray) -> NDArray[np.float32]:
    size = array.type.list_size
    values = array.values.slice(array.offset * size, len(array) * size)
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(array), size)


def game_starts(games: NDArray[np.int64]) -> NDArray[np.int64]:
    """First row of each game in a column in which the rows of a game are consecutive."""
    if not len(games):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(games[1:] != games[:-1]) + 1])


def concatenated(parts: Sequence[Columns]) -> Columns:
    """Concatenate columns."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in Columns._fields if name != "extras"
    }
    return Columns(
        **joined, extras={name: np.concatenate([one.extras[name] for one in parts]) for name in parts[0].extras}
    )


def taken(columns: Columns, rows: NDArray[Any] | slice) -> Columns:
    """Select rows by numbers, a mask or a slice."""
    chosen: dict[str, Any] = {name: getattr(columns, name)[rows] for name in Columns._fields if name != "extras"}
    return Columns(**chosen, extras={name: values[rows] for name, values in columns.extras.items()})
