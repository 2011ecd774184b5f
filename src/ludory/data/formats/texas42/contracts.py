"""Played contracts: for each deal who declared what, how many points the declaring side got, and what it could have got with open hands.

| column | type | meaning |
| --- | --- | --- |
| `seed` | int64 | of the contract |
| `dealt` | int32 [4] | masks of the hands; seat 0 declares and leads |
| `decl` | int8 | declaration |
| `points` | int8 | of seat 0's side, hidden hands, everybody playing for points |
| `open_points` | int8 [20] | the same with all hands open, exact, in 20 other deals around seat 0's hand |
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.data.shards import metadata_texts, open_shard, read_rows
from ludory.envs.texas42.tiles import STRAIGHT, TILES
from ludory.errors import DataError

from .row_checks import POINTS, Check, outside, refuse_nulls, refuse_wrong_rows

FORMAT = "ludory texas42 contracts 1"
CONTRACTS, OPEN = 100, 20
"""Contracts of one file; deals with open hands for each."""

_SCHEMA = pa.schema(
    [
        ("seed", pa.int64()),
        ("dealt", pa.list_(pa.int32(), 4)),
        ("decl", pa.int8()),
        ("points", pa.int8()),
        ("open_points", pa.list_(pa.int8(), OPEN)),
    ]
)


class ContractsName(NamedTuple):
    """Which contracts a file holds, and who played them."""

    first_seed: int
    worlds: int = 10
    """Of `texas42/pimc`."""

    @property
    def path(self) -> Path:
        """Place below the folder: `contracts_00000100.parquet`."""
        return Path(f"contracts_{self.first_seed:08d}.parquet")


class PlayedContracts(NamedTuple):
    """n contracts."""

    seed: NDArray[np.int64]
    dealt: NDArray[np.int32]
    """(n, 4)"""
    decl: NDArray[np.int8]
    points: NDArray[np.int8]
    open_points: NDArray[np.int8]
    """(n, 20)"""


def write_contracts(file: str | Path, name: ContractsName, contracts: PlayedContracts) -> None:
    """Write one file, whole or not at all.

    Raises:
        OutputError: the file cannot be written.
    """
    columns = [
        pa.array(contracts.seed),
        pa.FixedSizeListArray.from_arrays(pa.array(contracts.dealt.ravel()), 4),
        pa.array(contracts.decl),
        pa.array(contracts.points),
        pa.FixedSizeListArray.from_arrays(pa.array(contracts.open_points.ravel()), OPEN),
    ]
    table = pa.table(columns, schema=_SCHEMA.with_metadata(_metadata(name)))
    with atomic_file(file) as handle:
        pq.write_table(table, handle, compression="zstd", write_page_checksum=True)


def _metadata(name: ContractsName) -> dict[str, str]:
    return {"format": FORMAT, "first_seed": str(name.first_seed), "worlds": str(name.worlds)}


def check_contracts(file: Path, name: ContractsName) -> None:
    """Refuse a file that is damaged or of other contracts.

    Raises:
        DataError: saying what was found and what to do.
    """
    with open_shard(file) as shard:
        found = metadata_texts(shard, file)
        rows = shard.metadata.num_rows
    wanted = _metadata(name)
    if {key: found.get(key) for key in wanted} != wanted or rows != CONTRACTS:
        raise DataError(
            f"{file}: {rows} rows, {found}: must be {CONTRACTS} rows, {wanted}; delete it or name another folder"
        )


def read_contracts(files: list[Path]) -> PlayedContracts:
    """All contracts of some files.

    Raises:
        DataError: a file is damaged, or there is none.
    """
    if not files:
        raise DataError("no contracts to read: play some with `ludory texas42 calibrate --contracts 6000`")
    tables = []
    for file in files:
        with open_shard(file) as shard:
            if not shard.schema_arrow.equals(_SCHEMA) or metadata_texts(shard, file).get("format") != FORMAT:
                raise DataError(f"{file}: columns {shard.schema_arrow.names}: must be a file of {FORMAT!r}; delete it")
            tables.append(read_rows(shard, file))
        refuse_nulls(file, 0, tables[-1])
        refuse_wrong_rows(file, 0, _wrong_rows(tables[-1]))
    table = pa.concat_tables(tables)
    return PlayedContracts(
        np.asarray(table["seed"], np.int64),
        _wide(table, "dealt", 4).astype(np.int32),
        np.asarray(table["decl"], np.int8),
        np.asarray(table["points"], np.int8),
        _wide(table, "open_points", OPEN).astype(np.int8),
    )


def _wide(table: pa.Table, column: str, size: int) -> NDArray[np.int64]:
    return np.asarray(table[column].combine_chunks().flatten(), np.int64).reshape(table.num_rows, size)


def _wrong_rows(table: pa.Table) -> Iterator[Check]:
    hands = _wide(table, "dealt", 4)
    apart = (np.bitwise_count(hands) == 7).all(axis=1) & (np.bitwise_or.reduce(hands, axis=1) == (1 << TILES) - 1)
    yield "dealt", ~apart, hands, "four masks of 7 tiles each, every tile in one of them"
    yield outside("seed", np.asarray(table["seed"], np.int64), 0, (1 << 63) - 1)
    yield outside("decl", np.asarray(table["decl"], np.int8), 0, STRAIGHT[-1])
    yield outside("points", np.asarray(table["points"], np.int8), 0, POINTS)
    yield outside("open_points", _wide(table, "open_points", OPEN), 0, POINTS)
