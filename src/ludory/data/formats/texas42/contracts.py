"""Played contracts: the declaration of each deal, the points of the declaring side, and its points with open hands.

| column | type | meaning |
| --- | --- | --- |
| `seed` | int64 | of the contract |
| `dealt` | int32 [4] | masks of the hands; seat 0 declares and leads |
| `decl` | int8 | declaration |
| `points` | int8 | of seat 0's side with hidden hands, all seats playing for points |
| `open_points` | int8 [20] | the same with open hands, computed exactly, in 20 other deals of the hidden hands |
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ludory.data import metadata_texts, open_shard, read_rows
from ludory.envs.texas42.tiles import STRAIGHT, TILES
from ludory.errors import DataError

from .tables import POINTS, Check, list_column, outside, refuse_nulls, refuse_wrong_rows, rows_of_lists, write_table

FORMAT = "ludory texas42 contracts 1"
CONTRACTS, OPEN = 100, 20
"""Contracts per file; deals with open hands per contract."""

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
    """Number of worlds of `texas42/pimc`."""

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
    """Write one file, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    columns = [
        pa.array(contracts.seed),
        list_column(contracts.dealt),
        pa.array(contracts.decl),
        pa.array(contracts.points),
        list_column(contracts.open_points),
    ]
    write_table(file, pa.table(columns, schema=_SCHEMA.with_metadata(_metadata(name))))


def _metadata(name: ContractsName) -> dict[str, str]:
    return {"format": FORMAT, "first_seed": str(name.first_seed), "worlds": str(name.worlds)}


def check_contracts(file: Path, name: ContractsName) -> None:
    """Refuse a file that is damaged or holds other contracts.

    Raises:
        DataError: the message says what was found and what to do.
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
    """Read all contracts of some files.

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
        rows_of_lists(table, "dealt"),
        np.asarray(table["decl"], np.int8),
        np.asarray(table["points"], np.int8),
        rows_of_lists(table, "open_points"),
    )


def _wrong_rows(table: pa.Table) -> Iterator[Check]:
    hands = rows_of_lists(table, "dealt").astype(np.int64)
    # the masks together are all tiles, seven in each: then none is in two hands
    apart = (np.bitwise_count(hands) == 7).all(axis=1) & (np.bitwise_or.reduce(hands, axis=1) == (1 << TILES) - 1)
    yield "dealt", ~apart, hands, "four masks of 7 tiles each, every tile in one of them"
    yield outside("seed", np.asarray(table["seed"], np.int64), 0, (1 << 63) - 1)
    yield outside("decl", np.asarray(table["decl"], np.int8), 0, STRAIGHT[-1])
    yield outside("points", np.asarray(table["points"], np.int8), 0, POINTS)
    yield outside("open_points", rows_of_lists(table, "open_points"), 0, POINTS)
