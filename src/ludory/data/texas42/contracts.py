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

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.errors import DataError

from ..shards import open_shard, read_rows

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


class Contracts(NamedTuple):
    """n contracts."""

    seed: NDArray[np.int64]
    dealt: NDArray[np.int32]
    """(n, 4)"""
    decl: NDArray[np.int8]
    points: NDArray[np.int8]
    open_points: NDArray[np.int8]
    """(n, 20)"""


def write_contracts(file: str | Path, name: ContractsName, contracts: Contracts) -> None:
    """Write one file, whole or not at all.

    Raises:
        OutputError: the file can not be written.
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
        found = {key.decode(): value.decode() for key, value in (shard.schema_arrow.metadata or {}).items()}
        rows = shard.metadata.num_rows
    wanted = _metadata(name)
    if {key: found.get(key) for key in wanted} != wanted or rows != CONTRACTS:
        raise DataError(
            f"{file}: {rows} rows, {found}: must be {CONTRACTS} rows, {wanted}; delete it or name another folder"
        )


def read_contracts(files: list[Path]) -> Contracts:
    """All contracts of some files.

    Raises:
        DataError: a file is damaged, or there is none.
    """
    if not files:
        raise DataError("no contracts to read: play some with `ludory texas42 calibrate --contracts 6000`")
    tables = []
    for file in files:
        with open_shard(file) as shard:
            tables.append(read_rows(shard, file))
    table = pa.concat_tables(tables)
    count = table.num_rows

    def wide(column: str, size: int) -> NDArray[np.int64]:
        return np.asarray(table[column].combine_chunks().flatten(), np.int64).reshape(count, size)

    return Contracts(
        np.asarray(table["seed"], np.int64),
        wide("dealt", 4).astype(np.int32),
        np.asarray(table["decl"], np.int8),
        np.asarray(table["points"], np.int8),
        wide("open_points", OPEN).astype(np.int8),
    )
