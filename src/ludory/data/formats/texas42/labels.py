"""Labels: states met in played hands, each with its exact values, as Parquet files to learn from.

| column | type | meaning |
| --- | --- | --- |
| `seed`, `opp_seed` | int64 | of the deal; `opp_seed` is null where all four hands come from `seed` |
| `decl`, `leader` | int8 | declaration; who leads the first trick |
| `deal` | int8 [28] | tile ids, seat after seat |
| `decision` | int8 | tiles played before, 0..27 |
| `state`, `V`, `q0`..`q6` | int64, int8 | as in shards |
| `behaviour` | int8 | who played the hand: 0 random legal moves, 1 `texas42/pimc` with exploration |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ludory.data import Problem, metadata_texts, open_shard, read_rows
from ludory.envs import check_range
from ludory.envs.texas42.tiles import NELLO_HIGH, TILES
from ludory.errors import DataError
from ludory.limits import Fraction, check_limits

from . import tables
from .names import LAST_SEED, check_seed, split_of
from .shards import Q_COLUMNS

FORMAT = "ludory texas42 labels 1"
SEEDS = 50
"""Seeds per file; they all belong to one split."""

_INTEGERS = {"seed": pa.int64(), "opp_seed": pa.int64(), "decl": pa.int8(), "leader": pa.int8()}
_REST = {
    "decision": pa.int8(),
    "state": pa.int64(),
    "V": pa.int8(),
    **dict.fromkeys(Q_COLUMNS, pa.int8()),
    "behaviour": pa.int8(),
}
_SCHEMA = pa.schema(
    [
        *(pa.field(name, kind, nullable=name == "opp_seed") for name, kind in _INTEGERS.items()),
        pa.field("deal", pa.list_(pa.int8(), 28), nullable=False),
        *(pa.field(name, kind, nullable=False) for name, kind in _REST.items()),
    ]
)


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """How the hands are played whose states are labelled."""

    paths: int = 2
    """Hands played of each deal: the odd ones by `texas42/pimc`, the others by random legal moves."""
    worlds: int = 3
    """Number of worlds of `texas42/pimc`."""
    epsilon: Fraction = 0.1
    """Probability that it makes a random legal move instead."""
    sampler_seed: int = 0
    """Seed of leaders and moves."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: a field is out of range; the message names field, value and range.
        """
        check_range("paths", self.paths, 1, 1000)
        check_range("worlds", self.worlds, 1, 1_000_000)
        check_limits(self)


class LabelsName(NamedTuple):
    """Which labels a file holds."""

    first_seed: int
    """Seed of the first of the `SEEDS` deals."""

    @property
    def path(self) -> Path:
        """Place below the folder: `train/labels_00000050.parquet`."""
        return Path(split_of(self.first_seed)) / f"labels_{self.first_seed:08d}.parquet"

    @property
    def seeds(self) -> range:
        """Seeds of the deals."""
        return range(self.first_seed, self.first_seed + SEEDS)


class Labels(NamedTuple):
    """n labelled states."""

    seed: NDArray[np.int64]
    opp_seed: NDArray[np.int64]
    """-1 where there is none."""
    decl: NDArray[np.int8]
    leader: NDArray[np.int8]
    deal: NDArray[np.int8]
    """(n, 28)"""
    decision: NDArray[np.int8]
    state: NDArray[np.int64]
    value: NDArray[np.int8]
    """Team 0's minus Team 1's points still to be won."""
    q: NDArray[np.int8]
    """(n, 7), the same after each tile, by the mover's local index; -128: not legal."""
    behaviour: NDArray[np.int8]


def write_labels(file: str | Path, name: LabelsName, settings: LabelSettings, labels: Labels) -> None:
    """Write one file, atomically.

    Raises:
        OutputError: the file cannot be written.
    """
    columns = [
        pa.array(labels.seed),
        pa.array(labels.opp_seed, mask=labels.opp_seed < 0),
        pa.array(labels.decl),
        pa.array(labels.leader),
        tables.list_column(labels.deal),
        *map(pa.array, (labels.decision, labels.state, labels.value, *labels.q.T, labels.behaviour)),
    ]
    tables.write_table(file, pa.table(columns, schema=_SCHEMA.with_metadata(_metadata(name, settings))))


def _metadata(name: LabelsName, settings: LabelSettings) -> dict[str, str]:
    told = {"format": FORMAT, "first_seed": name.first_seed, "seeds": SEEDS} | asdict(settings)
    return {key: str(value) for key, value in told.items()}


def read_labels(file: str | Path) -> Labels:
    """Read all labels of a file.

    Raises:
        DataError: the file is damaged, or is not a file of labels.
    """
    with open_shard(file) as opened:
        _check_footer(file, opened)
        table = read_rows(opened, file)
    tables.refuse_nulls(file, 0, table, ("opp_seed",))
    plain = {name: table[name].to_numpy() for name in table.schema.names if name not in ("deal", "opp_seed")}
    deal = tables.rows_of_lists(table, "deal")
    other = table["opp_seed"].fill_null(-1).to_numpy()
    q = np.stack([plain[name] for name in Q_COLUMNS], axis=1)
    parts = plain["decision"], plain["state"], plain["V"], q, plain["behaviour"]
    labels = Labels(plain["seed"], other, plain["decl"], plain["leader"], deal, *parts)
    tables.refuse_wrong_rows(file, 0, _wrong_rows(labels))
    return labels


def _wrong_rows(labels: Labels) -> Iterator[tables.Check]:
    yield tables.outside("seed", labels.seed, 0, LAST_SEED)
    yield tables.outside("decl", labels.decl, 0, NELLO_HIGH - 1)
    yield tables.outside("leader", labels.leader, 0, 3)
    yield tables.outside("behaviour", labels.behaviour, 0, 1)
    yield from tables.wrong_deals(labels.deal)
    yield from tables.wrong_states(labels.state)
    played = TILES - np.bitwise_count(labels.state & ((1 << TILES) - 1)).astype(np.int64)
    yield (
        "decision",
        labels.decision != played,
        labels.decision,
        "the number of tiles that are no longer held in its state",
    )
    yield from tables.wrong_values(labels.state, labels.value, labels.q)
    split = np.array([split_of(int(seed)) for seed in labels.seed])
    yield "seed", split != split[0], labels.seed, f"of the split {split[0]}, as in the first row"


def is_labels(file: str | Path) -> bool:
    """Whether a file is named as files of labels are."""
    return Path(file).name.startswith("labels_")


def _check_footer(file: str | Path, opened: pq.ParquetFile) -> dict[str, str]:
    told = metadata_texts(opened, file)
    if told.get("format") != FORMAT:
        raise DataError(
            Problem(
                str(file), None, "format", str(told.get("format")), f"{FORMAT!r}, as `ludory texas42 labels` writes"
            )
        )
    if not opened.schema_arrow.equals(_SCHEMA):
        raise DataError(Problem(str(file), None, "columns", str(opened.schema_arrow.names), str(_SCHEMA.names)))
    if not opened.metadata.num_rows:
        raise DataError(Problem(str(file), None, "rows", "0", "at least 1"))
    return told


@dataclass(frozen=True, slots=True)
class CheckLabels:
    """Check for `jobs.fill`: refuses files that are not the labels that their name and the job call for."""

    settings: LabelSettings

    def __call__(self, file: Path, name: LabelsName) -> None:
        """Check footer, row count and settings.

        Raises:
            DataError: the file is damaged, foreign, or made with other settings.
        """
        with open_shard(file) as opened:
            told = _check_footer(file, opened)
        for key, value in _metadata(name, self.settings).items():
            if told.get(key) != value:
                raise DataError(
                    Problem(
                        str(file), None, key, str(told.get(key)), f"{value}: go on with the same, or in another folder"
                    )
                )


def first_seeds(seeds: range) -> range:
    """First seeds of the files that hold `seeds`."""
    check_seed(seeds[-1])
    return range(seeds[0] - seeds[0] % SEEDS, seeds[-1] + 1, SEEDS)
