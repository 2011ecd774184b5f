"""Reading trajectories: every decision once, whole sequences, stable splits, flat memory; bad files are refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from games.nim import matching, nim
from hypothesis import given, settings
from hypothesis import strategies as st
from support.made_up_sets import BITS, FLOATS, a_set, made_up, write_set

from ludory.data import TrajectoryDataset
from ludory.data.columns import METADATA_KEY, WEIGHT, Columns
from ludory.data.decisions import Decisions
from ludory.data.header import ExtraColumn, TrajectoryHeader, header_of, header_to_json
from ludory.data.shards import shard_file, write_shard
from ludory.envs.facts import Head, ObservationSpec
from ludory.envs.make import make_game
from ludory.errors import DataError, OptionError


def joined(batches: Any) -> Decisions:
    return Decisions(*map(torch.cat, zip(*batches, strict=True)))


@pytest.mark.parametrize(
    "header", [BITS, FLOATS, replace(FLOATS, extra_columns=(WEIGHT,))], ids=["bits", "floats", "weights"]
)
def test_what_was_written_is_read_in_the_stored_order(header: TrajectoryHeader, tmp_path: Path) -> None:
    columns = made_up(header, 50)
    write_shard(tmp_path / "one.parquet", header, columns)
    dataset = TrajectoryDataset(tmp_path / "one.parquet")
    assert dataset.header == header
    assert (len(dataset), dataset.num_games) == (len(columns.games), 50)
    read = joined(dataset.batches(7))
    for name in ("observations", "masks", "actions", "rewards", "terminated", "truncated", "seats", "games", "steps"):
        assert np.array_equal(getattr(read, name).numpy(), getattr(columns, name)), name
    assert np.array_equal(read.log_probs.numpy(), columns.log_probs, equal_nan=True)
    assert np.array_equal(read.weights.numpy(), columns.extras.get("weight", np.ones(len(columns.games), np.float32)))
    dtypes = [
        torch.uint8 if header is BITS else torch.float32,
        torch.uint8,
        torch.int64,
        torch.float32,
        torch.float32,
        torch.float32,
    ]
    assert [part.dtype for part in read] == [*dtypes, torch.bool, torch.bool, *[torch.int64] * 3, *[torch.float32] * 2]


def test_returns_sum_what_the_same_seat_gets_from_there_on(tmp_path: Path) -> None:
    data = joined(TrajectoryDataset(a_set(tmp_path)).batches(64))
    for row in range(len(data.games)):
        mine = (data.games == data.games[row]) & (data.seats == data.seats[row]) & (data.steps >= data.steps[row])
        assert data.returns[row] == data.rewards[mine].sum()


@given(size=st.integers(1, 700), seed=st.none() | st.integers(0, 99), epoch=st.integers(0, 3))
@settings(max_examples=25)
def test_an_epoch_gives_every_decision_once_in_batches_of_the_size(
    size: int, seed: int | None, epoch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dataset = TrajectoryDataset(_shared(tmp_path_factory))
    batches = list(dataset.batches(size, seed=seed, epoch=epoch))
    assert [len(one.games) for one in batches[:-1]] == [size] * (len(batches) - 1)
    read = joined(batches)
    assert len(set(zip(read.games.tolist(), read.steps.tolist(), strict=True))) == len(read.games) == len(dataset)


_folders: list[Path] = []


def _shared(factory: pytest.TempPathFactory) -> Path:
    if not _folders:
        _folders.append(a_set(factory.mktemp("shared")))
    return _folders[0]


def test_an_order_is_of_its_seed_and_epoch(tmp_path: Path) -> None:
    dataset = TrajectoryDataset(a_set(tmp_path))

    def order(seed: int, epoch: int) -> list[tuple[int, int]]:
        read = joined(dataset.batches(50, seed=seed, epoch=epoch))
        return list(zip(read.games.tolist(), read.steps.tolist(), strict=True))

    orders = [order(1, 0), order(1, 1), order(2, 0)]
    assert order(1, 0) == orders[0]
    assert len({tuple(one) for one in orders}) == 3
    assert [sorted(one) for one in orders[1:]] == [sorted(orders[0])] * 2


def test_shuffled_rows_come_from_all_over_the_set(tmp_path: Path) -> None:
    first = next(TrajectoryDataset(a_set(tmp_path)).batches(60, seed=0))
    assert len(first.games.unique()) > 30


@pytest.mark.parametrize("seed", [None, 4])
def test_sequences_are_whole_games_of_a_seat_padded_at_the_end(seed: int | None, tmp_path: Path) -> None:
    dataset = TrajectoryDataset(a_set(tmp_path, FLOATS))
    expected = joined(dataset.batches(10**6))
    found: Counter[tuple[int, int]] = Counter()
    for decisions, valid in dataset.sequences(16, seed=seed):
        assert len(decisions.games.unique()) in (16, 120 % 16)
        assert valid[0].all()
        assert (valid[1:] <= valid[:-1]).all()
        for s in range(valid.shape[1]):
            game, seat = int(decisions.games[0, s]), int(decisions.seats[0, s])
            mine = (expected.games == game) & (expected.seats == seat)
            found[game, seat] += 1
            for read, stored in zip(decisions, expected, strict=True):
                assert torch.equal(read[valid[:, s], s].nan_to_num(9), stored[mine].nan_to_num(9))
        assert (decisions.masks[~valid] == 255).all()
        for part in (
            decisions.observations,
            decisions.actions,
            decisions.log_probs,
            decisions.returns,
            decisions.weights,
        ):
            assert (part[~valid] == 0).all()
    pairs = set(zip(expected.games.tolist(), expected.seats.tolist(), strict=True))
    assert found == Counter(pairs)


def test_splits_share_no_game_and_together_are_the_set(tmp_path: Path) -> None:
    a_set(tmp_path, games=100)
    games = [
        set(joined(TrajectoryDataset(tmp_path, split).batches(99)).games.tolist()) for split in ("train", "val", "test")
    ]
    assert set.union(*games) == set(range(300))
    assert sum(map(len, games)) == 300
    assert 240 < len(games[0]) < 290


def test_a_game_stays_in_its_split_whatever_else_is_in_the_set(tmp_path: Path) -> None:
    a_set(tmp_path / "large", games=100)
    columns = made_up(BITS, 100, seed=7, first=150)
    write_shard(tmp_path / "other.parquet", BITS, columns)

    def val(path: Path) -> set[int]:
        return set(joined(TrajectoryDataset(path, "val").batches(99)).games.tolist())

    shared = set(range(150, 250))
    assert val(tmp_path / "large") & shared == val(tmp_path / "other.parquet") & shared


def test_the_split_is_sha256_of_seed_and_game(tmp_path: Path) -> None:
    """Worked out once: SHA-256 of "0|game" begins below 1/4 of its range for these of the first ten games."""
    import hashlib

    expected = {g for g in range(40) if int(hashlib.sha256(f"5|{g}".encode()).hexdigest()[:16], 16) < 2**62}
    a_set(tmp_path, shards=1)
    dataset = TrajectoryDataset(tmp_path, "train", split_ratio=(0.25, 0.5, 0.25), split_seed=5)
    assert set(joined(dataset.batches(99)).games.tolist()) == expected


def test_where_the_header_says_so_the_seed_decides_the_split(tmp_path: Path) -> None:
    header = replace(BITS, split_by="seed % 1000")
    columns = made_up(header, 4)
    seeds = np.array([899, 3900, 1949, 950])
    write_shard(tmp_path / "one.parquet", header, columns._replace(seeds=seeds[columns.games]))
    found = [
        joined(TrajectoryDataset(tmp_path / "one.parquet", split).batches(99)).games.unique().tolist()
        for split in ("train", "val", "test")
    ]
    assert found == [[0], [1, 2], [3]]
    write_shard(tmp_path / "two.parquet", header, columns)
    with pytest.raises(DataError, match="game 0, field 'seed': got null"):
        TrajectoryDataset(tmp_path / "two.parquet", "train")


@pytest.mark.parametrize("game", [make_game("HanabiTiny2P-v0", bomb="keep"), nim(two_heads=True), matching()])
def test_a_header_is_read_as_it_was_written_and_knows_its_game(game: Any, tmp_path: Path) -> None:
    header = header_of(game, agents=("random",) * 2, seed=3)
    columns = made_up(header, 3)
    write_shard(tmp_path / "one.parquet", header, columns._replace(rewards=0 * columns.rewards))
    read = TrajectoryDataset(tmp_path / "one.parquet").header
    assert read == header
    assert read.observation == game.facts.observation
    read.check_fits(game.facts)
    with pytest.raises(DataError, match="name the game"):
        read.check_fits(make_game("HanabiSmall3P-v0").facts)


def test_extra_columns_are_kept_and_read_with_the_tables(tmp_path: Path) -> None:
    extras = (ExtraColumn("q", "float32", 4), ExtraColumn("note", "string"), ExtraColumn("is_override", "bool"))
    header = replace(BITS, extra_columns=extras)
    columns = made_up(BITS, 5)
    rows = len(columns.games)
    values = {
        "q": np.arange(4 * rows, dtype=np.float32).reshape(rows, 4),
        "note": np.array(["a"] * rows),
        "is_override": np.array([True] * (rows - 1) + [None]),
    }
    write_shard(tmp_path / "one.parquet", header, columns._replace(extras=values))
    dataset = TrajectoryDataset(tmp_path / "one.parquet")
    assert dataset.header.extra_columns == extras
    (table,) = dataset.tables()
    assert table["q"].to_pylist() == values["q"].tolist()
    assert table["is_override"].to_pylist() == [True] * (rows - 1) + [None]
    assert len(next(dataset.batches(10**6)).games) == rows


# --- Bad files: one test for each way to be bad. --------------------------------------------------------------------------

ROW = 20


def game_of(columns: Columns) -> int:
    return int(columns.games[ROW])


def put(field: str, value: Any) -> Callable[[Columns], Columns]:
    def change(columns: Columns) -> Columns:
        values = getattr(columns, field).copy()
        values[ROW] = value
        return columns._replace(**{field: values})

    return change


def not_legal(columns: Columns) -> Columns:
    """The mask of one row allows only an action that was not taken."""
    masks = np.unpackbits(columns.masks, axis=1, count=9)
    masks[ROW, :5] = np.arange(5) != columns.actions[ROW, 0]
    return columns._replace(masks=np.packbits(masks, axis=1))


def no_choice_of_a_head(columns: Columns) -> Columns:
    masks = np.unpackbits(columns.masks, axis=1, count=9)
    masks[ROW, 5:] = 0
    return columns._replace(masks=np.packbits(masks, axis=1))


BAD = {
    "action that is not legal": (not_legal, "action_move", "legal: "),
    "action out of range": (put("actions", [5, 0]), "action_move", "got 5, must be legal: "),
    "negative action": (put("actions", [0, -1]), "action_to", "got -1"),
    "mask without legal values": (put("masks", 0), "mask", "no legal value of head 'move'"),
    "mask without legal values for a head": (no_choice_of_a_head, "mask", "no legal value of head 'to'"),
    "NaN reward": (put("rewards", np.nan), "reward", "got nan, must be finite"),
    "infinite reward": (put("rewards", np.inf), "reward", "got inf, must be finite"),
    "probability above 1": (put("log_probs", [0.5, 0.0]), "log_prob", r"got \[0.5, 0.0\]"),
    "no such seat": (put("seats", 2), "seat", r"got 2, must be a seat 0\.\.1"),
    "end in the middle": (put("terminated", True), "terminated", "an end before the seat's last decision"),
    "step twice": (lambda columns: put("steps", columns.steps[ROW - 2])(columns), "step", "got"),
    "step below 0": (put("steps", -1), "step", "got -1"),
}


def long_games(games: int = 12) -> Columns:
    """Games of 15 moves or more, so that row 20 stands in the middle of one."""
    lengths = 15
    parts = [made_up(BITS, 200, seed=1, moves=60)]
    columns = parts[0]
    counts = np.bincount(columns.games)
    wanted = np.flatnonzero(counts >= lengths)[:games]
    rows = np.isin(columns.games, wanted)
    return Columns(*(part[rows] for part in columns[:-1]), {})


@pytest.mark.parametrize(("change", "field", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_refused_with_file_row_and_field(change: Any, field: str, message: str, tmp_path: Path) -> None:
    file, good = tmp_path / "bad.parquet", long_games()
    write_shard(file, BITS, change(good))
    with pytest.raises(DataError, match=rf"bad\.parquet, row {ROW}, field '{field}': .*{message}.*skip_bad=True"):
        TrajectoryDataset(file)
    dataset = TrajectoryDataset(file, skip_bad=True)
    assert {problem.row for problem in dataset.skipped} <= {ROW, ROW + 1}
    assert dataset.skipped[0].field == field
    assert dataset.skipped_games == 1
    left = joined(dataset.batches(64))
    assert torch.equal(left.games, torch.from_numpy(good.games[good.games != game_of(good)]))


def test_a_game_that_is_cut_is_refused(tmp_path: Path) -> None:
    columns = long_games()
    cut = Columns(*(part[:-1] for part in columns[:-1]), {})
    write_shard(tmp_path / "bad.parquet", BITS, cut)
    with pytest.raises(DataError, match=r"field 'terminated': got no end on the seat's last decision"):
        TrajectoryDataset(tmp_path / "bad.parquet")


def test_float_observations_are_finite(tmp_path: Path) -> None:
    columns = made_up(FLOATS, 20)
    columns.observations[ROW, 1] = np.nan
    write_shard(tmp_path / "bad.parquet", FLOATS, columns)
    with pytest.raises(DataError, match=rf"row {ROW}, field 'observation': got nan at entry 1, must be finite"):
        TrajectoryDataset(tmp_path / "bad.parquet")


def test_weights_are_finite_and_not_negative(tmp_path: Path) -> None:
    header = replace(FLOATS, extra_columns=(WEIGHT,))
    columns = made_up(header, 20)
    columns.extras["weight"][ROW] = -1
    write_shard(tmp_path / "bad.parquet", header, columns)
    with pytest.raises(DataError, match=rf"row {ROW}, field 'weight': got -1.0, must be finite and at least 0"):
        TrajectoryDataset(tmp_path / "bad.parquet")


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> Path:
    """The file as another program might leave it."""
    pq.write_table(change(pq.read_table(file)), file)
    return file


def good_file(folder: Path, header: TrajectoryHeader = BITS) -> Path:
    write_shard(folder / "bad.parquet", header, made_up(header, 30))
    return folder / "bad.parquet"


def with_column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        column = pa.array(values(table), from_pandas=False)
        metadata = table.schema.metadata
        place = table.column_names.index(name) if name in table.column_names else table.num_columns
        rest = table.drop_columns([name]) if name in table.column_names else table
        return rest.add_column(place, name, column).replace_schema_metadata(metadata)

    return change


FILES = {
    "unknown column": (
        with_column("colour", lambda table: [1] * len(table)),
        "'colour': got unknown column colour, must be among game, seed",
    ),
    "missing column": (lambda table: table.drop_columns(["reward"]), "'reward': got no such column, must be float"),
    "observation of another shape": (
        with_column("observation", lambda table: pa.array([b"abc"] * len(table), pa.binary(3))),
        r"'observation': got fixed_size_binary\[3\], must be fixed_size_binary\[2\]",
    ),
    "mask of another shape": (
        with_column("mask", lambda table: pa.array([b"a"] * len(table), pa.binary(1))),
        r"'mask': got fixed_size_binary\[1\], must be fixed_size_binary\[2\]",
    ),
    "actions that are no integers": (
        with_column("action_to", lambda table: [0.5] * len(table)),
        "'action_to': got double, must be int32",
    ),
    "no metadata": (
        lambda table: table.replace_schema_metadata({}),
        "got no such metadata, must be a file of `ludory record`",
    ),
    "no rows": (lambda table: table.slice(0, 0), "'file': got no rows"),
    "missing reward": (
        with_column("reward", lambda table: pa.array([None, *table["reward"].to_pylist()[1:]], pa.float32())),
        "row 0, field 'reward': got null, must be a value",
    ),
}


@pytest.mark.parametrize(("change", "message"), FILES.values(), ids=FILES)
def test_files_of_another_schema_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"bad\.parquet,.* .*{message}"):
        TrajectoryDataset(rewritten(good_file(tmp_path), change))


def test_a_truncated_file_is_refused_and_left_out_when_asked(tmp_path: Path) -> None:
    a_set(tmp_path)
    file = shard_file(tmp_path, 1)
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"part-00001\.parquet, field 'file': got a truncated or damaged file"):
        TrajectoryDataset(tmp_path)
    dataset = TrajectoryDataset(tmp_path, skip_bad=True)
    assert dataset.num_games == 80
    assert [problem.row for problem in dataset.skipped] == [None]


def test_a_missing_shard_is_refused(tmp_path: Path) -> None:
    shard_file(a_set(tmp_path), 2).unlink()
    with pytest.raises(DataError, match=r"part-00002\.parquet, field 'file': got No such file or directory"):
        TrajectoryDataset(tmp_path)


def test_a_shard_of_another_game_is_refused(tmp_path: Path) -> None:
    a_set(tmp_path)
    write_shard(shard_file(tmp_path, 1), replace(BITS, seed=4), made_up(BITS, 40, first=40))
    with pytest.raises(
        DataError, match=r"part-00001\.parquet, field 'seed': got 4, must be None as in the other files"
    ):
        TrajectoryDataset(tmp_path)
    assert TrajectoryDataset(tmp_path, skip_bad=True).num_games == 80


def test_a_game_that_comes_twice_is_refused(tmp_path: Path) -> None:
    write_set(tmp_path, BITS, made_up(BITS, 40), made_up(BITS, 40, seed=2, first=30), games=40)
    with pytest.raises(DataError, match=r"part-00001\.parquet, row 0, field 'game': got game 30 a second time.*9 more"):
        TrajectoryDataset(tmp_path)
    assert TrajectoryDataset(tmp_path, skip_bad=True).num_games == 60


def test_files_of_a_later_schema_are_refused(tmp_path: Path) -> None:
    def later(table: pa.Table) -> pa.Table:
        return table.replace_schema_metadata({METADATA_KEY: json.dumps(header_to_json(BITS) | {"schema_version": 99})})

    with pytest.raises(DataError, match="'schema_version': got 99, this version of ludory reads 1"):
        TrajectoryDataset(rewritten(good_file(tmp_path), later))


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    a_set(tmp_path, shards=1, games=2)
    with pytest.raises(DataError, match=r"split 'val' \(split_ratio 0\) is empty: the set has 2 games; record more"):
        TrajectoryDataset(tmp_path, "val", split_ratio=(1, 0, 0))


def test_a_set_of_which_nothing_is_good_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="nothing is left of it"):
        TrajectoryDataset(tmp_path / "bad.parquet", skip_bad=True)


@pytest.mark.parametrize(
    "content", [None, "not json", "[]", '{"format": "other"}', '{"format": "ludory trajectories", "header": {}}']
)
def test_a_folder_without_a_readable_dataset_json_is_refused(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "dataset.json").write_text(content)
    with pytest.raises(DataError, match=r"dataset\.json"):
        TrajectoryDataset(tmp_path)


def test_what_does_not_exist_is_named_with_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none does not exist; record a dataset with `ludory record"):
        TrajectoryDataset(tmp_path / "none")


@pytest.mark.parametrize("wrong", [{"split": "dev"}, {"split_ratio": (0.9, 0.2, 0.1)}, {"split_ratio": (1.1, -0.1, 0)}])
def test_wrong_splits_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"split"):
        TrajectoryDataset(a_set(tmp_path), **wrong)


def test_batches_of_no_rows_are_refused(tmp_path: Path) -> None:
    dataset = TrajectoryDataset(a_set(tmp_path))
    for batches, name in ((dataset.batches, "size"), (dataset.sequences, "games")):
        with pytest.raises(OptionError, match=f"{name}=0"):
            next(batches(0))


# --- Memory. -------------------------------------------------------------------------------------------------------------

READ_LARGE_SET = """
import resource, sys
from ludory.data import TrajectoryDataset
small, large = sys.argv[1:]
def peak(path):
    dataset = TrajectoryDataset(path)
    rows = sum(len(one.games) for one in dataset.batches(4096, seed=1))
    rows += sum(int(one.valid.sum()) for one in dataset.sequences(256, seed=1))
    assert rows == 2 * len(dataset)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
first = peak(small)
print(peak(large) - first)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_set(tmp_path: Path) -> None:
    """Reading four times as much data (360 MB more) takes no more memory, within 60 MB."""
    header = TrajectoryHeader("Large", ObservationSpec("bits", (8000,), "uint8", ()), (Head("move", 5),), 2)
    columns = made_up(header, 4000, moves=60)
    size = columns.observations.nbytes >> 20
    assert size > 100
    for name, shards in (("small", 1), ("large", 4)):
        copies = [columns._replace(games=columns.games + 4000 * k) for k in range(shards)]
        write_set(tmp_path / name, header, *copies, games=4000)
    done = subprocess.run(
        [sys.executable, "-c", READ_LARGE_SET, str(tmp_path / "small"), str(tmp_path / "large")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 60 < 3 * size
