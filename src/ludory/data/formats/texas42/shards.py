"""Shards: all reachable states of one deal with their values, as Parquet files in the format of the oracle.

| column | type | meaning |
| --- | --- | --- |
| `state` | int64 | 41 bits, see `agents/texas42/solver/states.py`; rows ascend |
| `V` | int8 | Team 0's minus Team 1's points still to be won |
| `q0`..`q6` | int8 | the same after each tile, by the mover's local index; -128: may not be played |

Metadata, all as text: `seed`, `decl_id`; Ludory adds `opp_seed` (marginalised), `deal` (28 ids), `states` (number of reachable states)
and `max_states` (upper limit for the file). Readers also accept `mv0`..`mv6` for `q0`..`q6`, and files without the added metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.data import Problem, metadata_texts, open_shard
from ludory.errors import DataError

from .names import ShardName, parse_name
from .tables import Check, refuse_nulls, refuse_wrong_rows, wrong_states, wrong_values

ROW_GROUP = 1 << 20
Q_COLUMNS = tuple(f"q{k}" for k in range(7))
OLD_Q_COLUMNS = tuple(f"mv{k}" for k in range(7))


class StateRows(NamedTuple):
    """n states of one deal."""

    states: NDArray[np.int64]
    """(n,)"""
    values: NDArray[np.int8]
    """(n,)"""
    q: NDArray[np.int8]
    """(n, 7)"""


class ShardInfo(NamedTuple):
    """Name and footer of a shard."""

    name: ShardName
    deal: tuple[int, ...]
    """28 tile ids, seat after seat."""
    rows: int
    states: int | None
    """Number of reachable states; None: not recorded."""
    max_states: int | None
    """Upper limit of the file; None: it holds all reachable states."""
    columns: tuple[str, ...]


def schema_of(name: ShardName, states: int, max_states: int | None) -> pa.Schema:
    """The Arrow schema with the metadata of a shard."""
    metadata = {"seed": name.seed, "decl_id": name.decl, "deal": ",".join(map(str, name.deal)), "states": states}
    if name.opp_seed is not None:
        metadata["opp_seed"] = name.opp_seed
    if max_states is not None:
        metadata["max_states"] = max_states
    columns = [("state", pa.int64()), ("V", pa.int8()), *((column, pa.int8()) for column in Q_COLUMNS)]
    return pa.schema(
        [pa.field(*column, nullable=False) for column in columns], {k: str(v) for k, v in metadata.items()}
    )


def write_shard(
    file: str | Path, name: ShardName, parts: Iterable[StateRows], states: int, max_states: int | None = None
) -> int:
    """Write one shard, atomically; returns the number of rows.

    Args:
        file: to write.
        name: deal and declaration of the states.
        parts: rows in ascending order of states.
        states: number of reachable states.
        max_states: upper limit that `parts` keeps to; None: they hold all states.

    Raises:
        OutputError: the file cannot be written.
    """
    schema, count = schema_of(name, states, max_states), 0
    options = {"compression": "snappy", "write_page_checksum": True}
    with atomic_file(file) as handle, pq.ParquetWriter(handle, schema, **options) as writer:
        for rows in _in_groups(parts):
            columns = [rows.states, rows.values, *rows.q.T]
            writer.write_table(
                pa.table([pa.array(column) for column in columns], schema=schema), row_group_size=ROW_GROUP
            )
            count += len(rows.states)
    return count


def _in_groups(parts: Iterable[StateRows]) -> Iterator[StateRows]:
    """Regroup the rows by `ROW_GROUP`."""
    waiting: list[StateRows] = []
    number = 0
    for part in parts:
        waiting.append(part)
        number += len(part.states)
        if number >= ROW_GROUP:
            rows = _joined(waiting)
            # the rest waits for the next part
            whole = number - number % ROW_GROUP
            yield StateRows(rows.states[:whole], rows.values[:whole], rows.q[:whole])
            waiting, number = [StateRows(rows.states[whole:], rows.values[whole:], rows.q[whole:])], number - whole
    if number:
        yield _joined(waiting)


def _joined(parts: list[StateRows]) -> StateRows:
    return StateRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def shard_info(file: str | Path) -> ShardInfo:
    """Read name and footer of a shard.

    Raises:
        DataError: the file is not named as shards are, is damaged, or is not a shard: columns or metadata are missing or contradict the
            name.
    """
    with _opened(file) as (_, info):
        return info


@contextmanager
def _opened(file: str | Path) -> Iterator[tuple[pq.ParquetFile, ShardInfo]]:
    name = parse_name(file)
    with open_shard(file) as opened:
        schema = opened.schema_arrow
        told = metadata_texts(opened, file)
        q = OLD_Q_COLUMNS if OLD_Q_COLUMNS[0] in schema.names else Q_COLUMNS
        columns = ("state", "V", *q)
        for column, kind in zip(columns, [pa.int64(), *[pa.int8()] * 8], strict=True):
            found = schema.field(column).type if column in schema.names else "no such column"
            if found != kind:
                raise DataError(Problem(str(file), None, column, str(found), f"{kind}, as in a shard of the oracle"))
        rows = opened.metadata.num_rows
        yield opened, _checked_info(str(file), name, told, rows, columns)


def _checked_info(file: str, name: ShardName, told: dict[str, str], rows: int, columns: tuple[str, ...]) -> ShardInfo:
    wanted = {"seed": str(name.seed), "decl_id": str(name.decl), "deal": ",".join(map(str, name.deal))}
    if name.opp_seed is not None:
        wanted["opp_seed"] = str(name.opp_seed)
    for key, value in wanted.items():
        # the oracle's own files lack these
        found = told.get(key, value if key in ("deal", "opp_seed") else "no such metadata")
        if found != value:
            raise DataError(Problem(file, None, key, found, f"{value}, as the file's name says"))
    if "opp_seed" in told and name.opp_seed is None:
        raise DataError(Problem(file, None, "opp_seed", told["opp_seed"], "none, as the file's name says"))
    for key in ("states", "max_states"):
        if key in told and not (told[key].isdecimal() and len(told[key]) < 20):
            raise DataError(Problem(file, None, key, told[key][:40], "an integer of at least 0"))
    states, most = (int(told[key]) if key in told else None for key in ("states", "max_states"))
    # a limited file holds as many states as the limit allows, or all
    expected = states if most is None or states is None else min(states, most)
    if rows == 0 or (expected is not None and rows != expected):
        raise DataError(Problem(file, None, "rows", str(rows), f"{expected or 'at least 1'}: a whole shard"))
    return ShardInfo(name, tuple(name.deal), rows, states, most, columns)


def read_shard(file: str | Path) -> Iterator[StateRows]:
    """Yield the rows of a shard, one row group at a time.

    Raises:
        DataError: as `shard_info`; a page is damaged; or a row is invalid: null, out of range, not ascending, or V is not the best of q.
    """
    with _opened(file) as (opened, info):
        last, first_row = -1, 0
        for group in range(opened.num_row_groups):
            try:
                table = opened.read_row_group(group, columns=list(info.columns))
            except (OSError, pa.ArrowException) as error:
                raise DataError(
                    Problem(str(file), None, f"row group {group}", str(error), "an undamaged one")
                ) from error
            refuse_nulls(file, first_row, table)
            columns = [column.to_numpy() for column in table.columns]
            rows = StateRows(columns[0], columns[1], np.stack(columns[2:], axis=1))
            # across row groups, too: `last` is the last state of the group before
            refuse_wrong_rows(file, first_row, _wrong_rows(rows, last))
            yield rows
            first_row += len(rows.states)
            last = int(rows.states[-1]) if len(rows.states) else last


def _wrong_rows(rows: StateRows, last: int) -> Iterator[Check]:
    yield "state", np.diff(rows.states, prepend=last) <= 0, rows.states, "ascending"
    yield from wrong_states(rows.states)
    yield from wrong_values(*rows)


@dataclass(frozen=True, slots=True)
class CheckShard:
    """Check for `jobs.fill`: refuses files that are not the shard that their name and the job call for."""

    max_states: int | None

    def __call__(self, file: Path, name: ShardName) -> None:
        """Check footer and row count.

        Raises:
            DataError: the file is damaged, foreign, or made with another `max_states`.
        """
        found = shard_info(file).max_states
        if found != self.max_states:
            raise DataError(
                f"{file}: made with max_states={found}, asked for is {self.max_states}; name another folder, or replace the files"
            )
