"""P(make) of a dealt hand by declaration and bid: one Parquet file with one row for each seed.

Columns: `seed`, `hand` ("6-4,5-5,..."), `n_samples`, `model_checkpoint` (the player, or the method of computation), `timestamp`; for each of the nine
declarations d of straight 42 `points_{d}` (list of int8, 0..42), and for each bid b from 30 to 42 `pmake_{d}_{b}`, `ci_low_{d}_{b}`,
`ci_high_{d}_{b}` (float32, Wilson, 95 %): 365 columns. The metadata holds the settings: `mode`, `worlds`, `sampler_seed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ludory.data import Problem, metadata_texts, open_shard, read_rows
from ludory.envs.texas42.tiles import STRAIGHT
from ludory.errors import DataError

from .names import split_of
from .tables import POINTS, Check, outside, refuse_nulls, refuse_wrong_rows, write_table

FORMAT = "ludory texas42 bids 1"
BIDS = range(30, 43)
FIGURES = ("pmake", "ci_low", "ci_high")
ROUNDING = 1e-5
"""Tolerance for float32."""


class BidName(NamedTuple):
    """Which hand a file describes (seat 0's in the deal of the seed), and how its probabilities are found."""

    seed: int
    mode: str
    samples: int
    worlds: int
    sampler_seed: int

    @property
    def path(self) -> Path:
        """Place below the folder: `train/seed_00000042.parquet`."""
        return Path(split_of(self.seed)) / f"seed_{self.seed:08d}.parquet"

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of the file."""
        return {"format": FORMAT} | {key: str(value) for key, value in self._asdict().items()}


class BidTable(NamedTuple):
    """Content of a file."""

    hand: str
    player: str
    points: Any
    """int8 (9, n)"""
    figures: Any
    """float32 (3, 9, 13): probabilities, and the ends of their confidence intervals."""


def schema(name: BidName) -> pa.Schema:
    """Columns of a file."""
    first = [("seed", pa.int64()), ("hand", pa.string()), ("n_samples", pa.int32()), ("model_checkpoint", pa.string())]
    points = [(f"points_{decl}", pa.list_(pa.int8())) for decl in STRAIGHT]
    figures = [(f"{figure}_{decl}_{bid}", pa.float32()) for decl in STRAIGHT for figure in FIGURES for bid in BIDS]
    return pa.schema([*first, ("timestamp", pa.string()), *points, *figures], metadata=name.metadata)


def write_bids(file: str | Path, name: BidName, table: BidTable) -> None:
    """Write one file, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    row: dict[str, Any] = {
        "seed": name.seed,
        "hand": table.hand,
        "n_samples": name.samples,
        "model_checkpoint": table.player,
        "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    for k, decl in enumerate(STRAIGHT):
        row[f"points_{decl}"] = table.points[k].tolist()
        for j, figure in enumerate(FIGURES):
            row |= {f"{figure}_{decl}_{bid}": float(table.figures[j, k, bid - 30]) for bid in BIDS}
    write_table(file, pa.Table.from_pylist([row], schema(name)))


def is_bids(file: str | Path) -> bool:
    """Whether a file is named as tables of bids are: by a seed, without a declaration."""
    return re.fullmatch(r"seed_\d{8}\.parquet", Path(file).name) is not None


def read_bids(file: str | Path, name: BidName | None = None) -> BidTable:
    """Read a file; `name`: refuse one that was made with other settings.

    Raises:
        DataError: the file is damaged, foreign, or made with other settings.
    """
    with open_shard(file) as shard:
        found = metadata_texts(shard, file)
        rows = shard.metadata.num_rows
        if found.get("format") != FORMAT or rows != 1:
            raise DataError(
                f"{file}: format {found.get('format')!r}, {rows} rows: must be {FORMAT!r}, 1 row, from `ludory texas42 bids`"
            )
        wanted = name.metadata if name else {}
        for key, value in wanted.items():
            if found.get(key) != value:
                raise DataError(
                    f"{file}: {key} is {found.get(key)}, asked for {value}; name another folder, or add --replace"
                )
        if shard.schema_arrow.names != schema(BidName(0, "", 0, 0, 0)).names:
            raise DataError(f"{file}: columns are missing or of another file; make it anew with --replace")
        table = read_rows(shard, file)
        row = table.to_pylist()[0]
    refuse_nulls(file, 0, table)
    try:
        points = np.array([row[f"points_{decl}"] for decl in STRAIGHT], np.int8)
        figures = [[[row[f"{figure}_{decl}_{bid}"] for bid in BIDS] for decl in STRAIGHT] for figure in FIGURES]
        found_table = BidTable(row["hand"], row["model_checkpoint"], points, np.array(figures, np.float32))
    except (ValueError, OverflowError, TypeError) as error:
        raise DataError(f"{file}: {error}; make it anew with --replace") from error
    refuse_wrong_rows(file, 0, _wrong_figures(found_table))
    _check_seed(file, row, found)
    return found_table


def _wrong_figures(table: BidTable) -> Iterator[Check]:
    yield outside("points", table.points[None], 0, POINTS)
    for figure, name in zip(table.figures, FIGURES, strict=True):
        for k, decl in enumerate(STRAIGHT):
            for j, bid in enumerate(BIDS):
                yield outside(f"{name}_{decl}_{bid}", figure[k, j : j + 1], 0, 1)
    p, low, high = table.figures
    # Wilson's interval holds the share itself, up to rounding
    for k, decl in enumerate(STRAIGHT):
        wrong = ~((low[k] <= p[k] + ROUNDING) & (p[k] <= high[k] + ROUNDING))
        bid = int(wrong.argmax())
        yield f"pmake_{decl}_{BIDS[bid]}", wrong[bid : bid + 1], p[k, bid : bid + 1], "in its interval"
        wrong = np.diff(p[k, :-1]) > ROUNDING  # 42 is played for on its own in a rollout, and may come out above 41
        bid = int(wrong.argmax()) + 1
        yield f"pmake_{decl}_{BIDS[bid]}", wrong[bid - 1 : bid], p[k, bid : bid + 1], "not above that of a smaller bid"


def _check_seed(file: str | Path, row: dict[str, Any], told: dict[str, str]) -> None:
    """Refuse a table whose columns contradict its metadata."""
    for field, key in (("seed", "seed"), ("n_samples", "samples")):
        if str(row[field]) != told.get(key):
            raise DataError(Problem(str(file), 0, field, str(row[field]), f"{told.get(key)}, as the metadata say"))
