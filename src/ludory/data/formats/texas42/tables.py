"""Parquet files of Texas 42: writing them, and finding the first bad row, its field and what it must hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.data import Problem
from ludory.envs.texas42.tiles import TILES
from ludory.errors import DataError

POINTS = 42
"""Points in a hand."""
ILLEGAL = -128
"""Value of a tile that may not be played."""
NO_TILE = 7
Check = tuple[str, NDArray[np.bool_], NDArray[Any], str]
"""Field, (n,) which rows are wrong, (n, ...) what they hold, and what they may hold."""


def write_table(file: str | Path, table: pa.Table) -> None:
    """Write a compressed file with checksums, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_file(file) as handle:
        pq.write_table(table, handle, compression="zstd", write_page_checksum=True)


def list_column(rows: NDArray[Any]) -> pa.Array:
    """(n, size) as a column of lists."""
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def rows_of_lists(table: pa.Table, column: str) -> NDArray[Any]:
    """A column of lists as (n, size)."""
    lists = table[column].combine_chunks()
    return np.asarray(lists.flatten()).reshape(len(lists), lists.type.list_size)


def refuse_wrong_rows(file: object, first_row: int, checks: Iterator[Check]) -> None:
    """Raise an error at the first check that finds a wrong row.

    Raises:
        DataError: naming file, row and field.
    """
    for field, wrong, values, allowed in checks:
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(Problem(str(file), first_row + row, field, str(values[row].tolist()), allowed))


def refuse_nulls(file: object, first_row: int, table: pa.Table, may_be_null: tuple[str, ...] = ()) -> None:
    """Raise an error at a missing value, also inside lists.

    Raises:
        DataError: naming file, row and field.
    """
    for name in table.column_names:
        column = table[name].combine_chunks()
        if name not in may_be_null and column.null_count:
            row = int(np.asarray(column.is_null()).argmax())
            raise DataError(Problem(str(file), first_row + row, name, "null", "a value"))
        if pa.types.is_nested(column.type) and column.flatten().null_count:
            row = next(k for k, one in enumerate(column.to_pylist()) if one is not None and None in one)
            raise DataError(Problem(str(file), first_row + row, name, "a list with null in it", "values"))


def wrong_states(states: NDArray[np.int64]) -> Iterator[Check]:
    """Check states (n,) of 41 bits for those that no hand can be in; see `agents/texas42/solver/states.py`."""
    inside = (states >= 0) & (states < 1 << 41)
    yield "state", ~inside, states, "41 bits"
    leader, length = states >> 28 & 3, states >> 30 & 3
    held = states[:, None] >> 7 * np.arange(4) & 127  # (n, 4)
    seats, wrong = np.arange(4), np.zeros(len(states), bool)
    has_played = (seats - leader[:, None]) % 4 < length[:, None]
    counts = np.bitwise_count(held) + has_played
    wrong |= (counts != counts[:, :1]).any(axis=1)
    for place in range(3):
        local, lies = states >> 32 + 3 * place & 7, place < length
        owner = held[np.arange(len(states)), (leader + place) & 3]
        wrong |= np.where(lies, (local == NO_TILE) | (owner >> local & 1 == 1), local != NO_TILE)
    yield "state", wrong, states, "a state of a hand: seats that hold as many tiles, and a trick of tiles played"


def wrong_values(states: NDArray[np.int64], values: NDArray[np.int8], q: NDArray[np.int8]) -> Iterator[Check]:
    """Check values (n,) and those of the tiles (n, 7) for ranges and for whether they fit each other."""
    mover = (states >> 28 & 3) + (states >> 30 & 3) & 3
    holds = (states >> 7 * mover)[:, None] >> np.arange(7) & 1 == 1
    legal, wide = q != ILLEGAL, q.astype(np.int16)
    yield outside("V", values, -POINTS, POINTS)
    yield (
        "q",
        np.asarray((legal & (np.abs(wide) > POINTS)).any(axis=1)),
        q,
        f"-{POINTS}..{POINTS}, or {ILLEGAL} where not legal",
    )
    yield "q", (legal & ~holds).any(axis=1), q, f"{ILLEGAL} for tiles that the mover does not hold"
    yield "q", holds.any(axis=1) & ~legal.any(axis=1), q, "the value of a tile that may be played"
    best = np.where(mover % 2 == 0, np.where(legal, wide, -99).max(axis=1), np.where(legal, wide, 99).min(axis=1))
    best = np.where(legal.any(axis=1), best, 0)
    off = np.asarray(values != best, np.bool_)
    yield "V", off, values, f"{int(best[off.argmax()]) if off.any() else 0}, the best of its q"


def wrong_deals(deal: NDArray[np.int8]) -> Iterator[Check]:
    """Check that deals (n, 28) are the 28 tiles, each hand in ascending order."""
    whole = np.sort(deal, axis=1) == np.arange(TILES)
    yield "deal", ~whole.all(axis=1), deal, f"the {TILES} tile ids, seat after seat"
    hands = deal.reshape(-1, 4, 7)
    yield "deal", np.asarray((np.diff(hands, axis=2) <= 0).any(axis=(1, 2)), np.bool_), deal, "hands that ascend"


def outside(field: str, values: NDArray[Any], low: float, high: float) -> Check:
    """Check for rows with a value outside low..high; NaN counts as outside."""
    inside = ((values >= low) & (values <= high)).reshape(len(values), -1)
    return field, np.asarray(~inside.all(axis=1), np.bool_), values, f"{low:g}..{high:g}"
