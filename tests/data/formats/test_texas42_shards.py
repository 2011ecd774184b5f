"""Shards of the oracle: all states of a deal, exact; whole or not there; nothing foreign is taken for one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.golden_texas42 import load
from support.windows.unix import needs_unix

from ludory.agents.texas42.solver.tabulator import Tabulation
from ludory.algorithms.texas42.data.shards import ROOT, make_shard, shard_names, verify_shard
from ludory.atomic import atomic_file
from ludory.claims import claimed
from ludory.cli import main
from ludory.data.formats.texas42.jobs import fill
from ludory.data.formats.texas42.names import ShardName, marginalised_deal, parse_name, split_of
from ludory.data.formats.texas42.shards import StateRows, read_shard, shard_info, write_shard
from ludory.envs.texas42.start import seed_deal
from ludory.errors import DataError, OutputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Part of the smallest deal of the golden data."""
    name = ShardName(930, 0)
    file = tmp_path_factory.mktemp("shards") / name.path
    make_shard(file, name, max_states=20_000)
    return file


def everything(file):
    return StateRows(*(np.concatenate(parts) for parts in zip(*read_shard(file), strict=True)))


@pytest.mark.slow
def test_a_whole_shard_has_every_reachable_state_once_with_its_values(tmp_path):
    golden = next(row for row in load("shard_counts.json") if row["seed"] == 930)
    file = tmp_path / "seed_00000930_decl_0.parquet"
    assert make_shard(file, ShardName(930, 0)) == golden["states"] == pq.read_metadata(file).num_rows
    rows = everything(file)
    assert (np.diff(rows.states) > 0).all()
    held = np.bitwise_count(rows.states & ((1 << 28) - 1))
    assert np.bincount(held, minlength=29)[::-1].tolist() == golden["states_per_level"]
    for row in (row for row in load("shard_states.parquet") if row["seed"] == 930):
        at = np.searchsorted(rows.states, row["state"])
        assert rows.states[at] == row["state"]
        assert rows.values[at] == row["V"]
        assert rows.q[at].tolist() == [row[f"q{k}"] for k in range(7)]
    ends = rows.q[held == 0]
    assert len(ends) == golden["states_per_level"][-1]
    assert (ends == -128).all()
    assert not rows.values[held == 0].any()


@pytest.mark.slow
def test_columns_and_metadata_are_those_of_the_format(small):
    file = pq.ParquetFile(small)
    assert [(part.name, str(part.type)) for part in file.schema_arrow] == [
        ("state", "int64"), ("V", "int8"), *((f"q{k}", "int8") for k in range(7)),
    ]  # fmt: skip
    assert file.schema_arrow.metadata[b"seed"] == b"930"
    assert file.schema_arrow.metadata[b"decl_id"] == b"0"
    assert file.metadata.row_group(0).column(0).compression == "SNAPPY"


@pytest.mark.slow
def test_part_of_a_deal_is_the_same_part_every_time_and_has_the_root(small, tmp_path):
    again = tmp_path / small.name
    make_shard(again, ShardName(930, 0), max_states=20_000)
    assert again.read_bytes() == small.read_bytes()
    assert verify_shard(small) == 20_000


def test_a_part_is_drawn_uniformly(small):
    held = np.bitwise_count(everything(small).states & ((1 << 28) - 1))
    golden = next(row for row in load("shard_counts.json") if row["seed"] == 930)
    share = np.array(golden["states_per_level"]) / golden["states"]
    counts = np.bincount(held, minlength=29)[::-1]
    assert (abs(counts - 20_000 * share) < 5 * np.sqrt(20_000 * share) + 2).all()


def test_names_and_splits():
    assert ShardName(42, 2).file == "seed_00000042_decl_2.parquet"
    assert ShardName(42, 2, 1).path == Path("train/seed_00000042_opp1_decl_2.parquet")
    assert parse_name("x/seed_00000950_opp0_decl_0.parquet") == ShardName(950, 0, 0)
    assert [split_of(seed) for seed in (0, 899, 900, 949, 950, 999, 1000, 5900)] == [
        "train", "train", "val", "val", "test", "test", "train", "val",
    ]  # fmt: skip
    assert [name.decl for name in shard_names(range(8, 12))] == [8, 9, 0, 1]
    with pytest.raises(DataError, match="not called as shards are"):
        parse_name("shard_1.parquet")


def test_marginalised_deals_keep_the_hand_of_seat_0_and_change_the_others():
    deals = [marginalised_deal(7, other) for other in range(3)]
    assert all(deal[0] == seed_deal(7)[0] for deal in deals)
    assert all(sorted(chain(*deal)) == list(range(28)) for deal in deals)
    assert len({str(deal) for deal in deals}) == 3


@pytest.mark.slow
def test_a_marginalised_shard_is_of_its_own_deal_and_says_so(tmp_path):
    name = ShardName(7, 7, 1)
    make_shard(tmp_path / name.file, name, max_states=500)
    assert verify_shard(tmp_path / name.file) == 500
    assert list(shard_info(tmp_path / name.file).deal) == [*chain(*marginalised_deal(7, 1))]
    base = Tabulation(ShardName(7, 7).deal, 7)
    states = np.array([ROOT])
    write_shard(tmp_path / name.file, name, [StateRows(states, *base.look_up(states))], base.states, 1)
    with pytest.raises(DataError, match="for the deal that the name says"):
        verify_shard(tmp_path / name.file)


def broken(small, tmp_path, change):
    file = tmp_path / small.name
    file.write_bytes(change(small.read_bytes()))
    return file


def test_damaged_files_are_named_and_refused(small, tmp_path):
    for change in (lambda data: data[:-9], lambda data: b"", lambda data: data[:5000] + b"\0\1\2\3" * 8 + data[5032:]):
        file = broken(small, tmp_path, change)
        with pytest.raises(DataError, match=str(file)):
            verify_shard(file)


def test_foreign_files_are_named_and_refused(small, tmp_path):
    other = tmp_path / "seed_00000931_decl_1.parquet"
    other.write_bytes(small.read_bytes())
    with pytest.raises(DataError, match=r"seed_00000931.*'seed': got 930, must be 931"):
        shard_info(other)
    table = pq.read_table(small)
    pq.write_table(table.drop_columns(["q6"]), tmp_path / small.name)
    with pytest.raises(DataError, match="'q6': got no such column"):
        shard_info(tmp_path / small.name)
    swapped = table.set_column(1, "V", table["q0"])
    pq.write_table(swapped, tmp_path / small.name)
    with pytest.raises(DataError, match="'V': got -128, must be"):
        verify_shard(tmp_path / small.name)


def test_older_names_of_columns_are_read(small, tmp_path):
    table = pq.read_table(small)
    metadata = {key: value for key, value in table.schema.metadata.items() if key in (b"seed", b"decl_id")}
    names = ["state", "V", *(f"mv{k}" for k in range(7))]
    pq.write_table(table.rename_columns(names).replace_schema_metadata(metadata), tmp_path / small.name)
    assert verify_shard(tmp_path / small.name) == 20_000


class Number:
    def __init__(self, number):
        self.path = Path(f"{number}.txt")


def accept(file, name):
    if file.read_text() != "whole":
        raise DataError(f"{file}: half")


def write(file, name):
    with atomic_file(file, "w") as handle:
        handle.write("whole")


def test_a_job_fills_the_gaps_only(tmp_path):
    names = [Number(k) for k in range(5)]
    write(tmp_path / "2.txt", names[2])
    made = []
    done = fill(tmp_path, names, accept, write, limit=3, report=made.append)
    assert (done.made, done.kept) == (3, 1)
    assert made == [names[0], names[1], names[3]]
    (tmp_path / "1.txt").write_text("ha")
    with pytest.raises(DataError, match=r"1\.txt: half"):
        fill(tmp_path, names, accept, write)
    assert fill(tmp_path, names, accept, write, replace=True).made == 2


def test_two_processes_do_not_make_the_same_file(tmp_path):
    with claimed(tmp_path / "0.txt") as ours:
        assert ours
        done = fill(tmp_path, [Number(0), Number(1)], accept, write)
        assert (done.made, done.elsewhere) == (1, 1)
    assert fill(tmp_path, [Number(0), Number(1)], accept, write).made == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0.txt", "1.txt"]


def test_a_job_whose_files_are_gone_does_not_claim_success(tmp_path):
    names = [Number(k) for k in range(100)]
    assert fill(tmp_path, names, accept, write, limit=3).made == 3
    made = []

    def report(name):
        made.append(name)
        if len(made) == 2:
            (tmp_path / "1.txt").unlink()

    with pytest.raises(OutputError, match=r"1\.txt is gone: somebody"):
        fill(tmp_path, names, accept, write, report=report)
    assert len(made) == 2, "after the next file"
    done = fill(tmp_path, names, accept, write)
    assert (done.made, done.kept) == (95, 5)


KILLED = """
import os, signal, sys
from pathlib import Path
from ludory.atomic import atomic_file
from ludory.data.formats.texas42.jobs import fill
class Number:
    def __init__(self, number): self.path = Path("train") / f"{number}.txt"
def make(file, name):
    with atomic_file(file, "w") as handle:
        handle.write("who")
        handle.flush()
        if "2.txt" in str(file): os.kill(os.getpid(), signal.SIGKILL)
        handle.write("le")
fill(sys.argv[1], map(Number, range(4)), lambda file, name: None, make)
"""


@needs_unix("on Windows the temporary has a claim of its own")
def test_a_killed_job_leaves_whole_files_and_the_next_one_fills_the_gaps(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(file.name for file in (tmp_path / "train").glob("[!.]*")) == ["0.txt", "1.txt"]
    assert len(list((tmp_path / "train").glob(".*"))) == 2  # what it left: a temporary file and a claim
    names = [Number(f"train/{k}") for k in range(4)]
    assert fill(tmp_path, names, accept, write).made == 2
    assert sorted(file.name for file in (tmp_path / "train").iterdir()) == ["0.txt", "1.txt", "2.txt", "3.txt"]


@pytest.mark.slow
def test_ctrl_c_ends_the_command_after_the_file_in_work(tmp_path, monkeypatch, capsys):
    command = ["texas42", "generate", "--out", str(tmp_path), "--seeds", "930-932", "--max-states", "10"]

    def make(file, name, max_states):
        os.kill(os.getpid(), signal.SIGINT)
        return make_shard(file, name, max_states)

    monkeypatch.setattr("ludory.algorithms.texas42.data.shards.make_shard", make)
    assert main(command) == 130
    assert "1 files written (10 states), 0 were there" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(command) == 0
    assert "2 files written (20 states), 1 were there" in capsys.readouterr().out
    assert main([*command, "--dry-run"]) == 0
    assert "val          3 there        0 missing" in capsys.readouterr().out


def test_wrong_arguments_say_what_is_allowed(capsys):
    assert main(["texas42", "generat"]) == 2
    assert "did you mean 'generate'" in capsys.readouterr().err
    assert main(["texas42", "generate", "--n-opp-seeds", "4"]) == 2
    assert "together with --marginalized" in capsys.readouterr().err
    assert main(["texas42", "generate", "--decl", "sevens"]) == 2
    assert "one of blanks, aces" in capsys.readouterr().err
