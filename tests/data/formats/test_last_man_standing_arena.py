"""Recordings of the arena as recorder files: what is read back is what was played, bit for bit."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from ludory.agents.evaluation.record import record
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.columns import from_table
from ludory.data.decisions import Decisions
from ludory.data.formats.last_man_standing.as_trajectories import as_trajectories
from ludory.data.formats.last_man_standing.load import SequenceSet, load_sequences
from ludory.data.formats.last_man_standing.recorder import Reading
from ludory.data.formats.last_man_standing.recorder_writer import write_recorder
from ludory.data.formats.last_man_standing.summary import summary_of
from ludory.data.shards import write_dataset, write_table
from ludory.envs.arena.codec import HEADS, PRESETS
from ludory.envs.make import make_game
from ludory.errors import DataError, ReplayError

Capture = pytest.CaptureFixture[str]
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "duel": ("Arena2P-v0", {"heads": "seed"}),
    "free for all": ("Arena4P-v0", {"heads": "default"}),
}
GAMES, SEED = 3, 5


@pytest.fixture(
    scope="module",
    params=[pytest.param("duel", marks=pytest.mark.slow), pytest.param("free for all", marks=pytest.mark.slow)],
)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of random play, as Parquet and in `recorder`."""
    folder = tmp_path_factory.mktemp("arena")
    id, options = VARIANTS[request.param]
    record("random", id, GAMES, folder, seed=SEED, observation="seed19", **options)
    write_recorder(folder, folder / "recorder")
    return folder


@pytest.fixture(scope="module")
def found(played: Path) -> SequenceSet:
    """The recorder files, read."""
    return load_sequences(played / "recorder")


def everything(folder: Path) -> Decisions:
    return next(TrajectoryDataset(folder).batches(10**9))


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def ulps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How many float32 values lie between two, both at least 0."""
    return np.abs(np.ascontiguousarray(one).view(np.int32) - np.ascontiguousarray(other).view(np.int32))


@pytest.mark.slow
def test_recordings_and_recorder_files_agree_on_which_heads_had_an_effect(played: Path, found: SequenceSet) -> None:
    rows = [row for table in TrajectoryDataset(played).tables() for row in table.to_pylist()]
    used = np.array([row["used"] for row in rows])
    places = np.array([(row["game"], row["seat"]) for row in rows])
    for sequence in found.sequences:
        mine = (places == (sequence.extras["game"], sequence.extras["seat"])).all(axis=1)
        assert np.array_equal(sequence.extras["steps"]["used"], used[mine])
    assert 0 < used[:, HEADS.index("aim_x")].mean() < used[:, HEADS.index("move_x")].mean()
    data = TrajectoryDataset(played, extras=("used",))
    assert torch.equal(next(data.batches(10**9)).extras[:, data.layout["used"]], torch.from_numpy(used).float())


@pytest.mark.slow
def test_a_missing_mark_of_use_is_a_problem_that_names_row_and_field(played: Path, tmp_path: Path) -> None:
    header, (table, *_) = TrajectoryDataset(played).header, TrajectoryDataset(played).tables()
    marks = table["used"].to_pylist()
    marks[7] = [None, *marks[7][1:]]
    place, field = table.schema.get_field_index("used"), table.schema.field("used")
    write_table(tmp_path / "set.parquet", header, table.set_column(place, field, pa.array(marks, field.type)))
    with pytest.raises(DataError, match="row 7, field 'used': got null, must be true or false"):
        TrajectoryDataset(tmp_path / "set.parquet")


@pytest.mark.slow
def test_what_is_read_back_is_what_was_played(played: Path, found: SequenceSet) -> None:
    header, data = TrajectoryDataset(played).header, everything(played)
    assert len(found.sequences) == GAMES * header.players
    assert found.sizes == header.head_sizes
    assert sum(sequence.length for sequence in found.sequences) == len(data.games)
    for sequence in found.sequences:
        rows = ((data.games == sequence.extras["game"]) & (data.seats == sequence.extras["seat"])).numpy()
        seen = data.observations.numpy()[rows]
        assert np.array_equal(sequence.obs[:, :17], seen[:, :17])
        assert ulps(sequence.obs[:, 17:], seen[:, 17:]).max() <= 1
        assert np.array_equal(np.stack([sequence.actions[head] for head in HEADS], 1), data.actions.numpy()[rows])
        assert np.array_equal(sequence.rewards, data.rewards.numpy()[rows])
        assert np.array_equal(sequence.terminated, data.terminated.numpy()[rows])
        assert np.array_equal(sequence.truncated, data.truncated.numpy()[rows])
        by_head = np.stack([sequence.behavior_logp_heads[head] for head in HEADS], 1)
        log_probs = data.log_probs.numpy()[rows]
        assert np.array_equal(by_head, log_probs)
        used = sequence.extras["steps"]["used"]
        joint = np.where(used, log_probs.astype(np.float64), 0).sum(1).astype(np.float32)
        assert np.array_equal(sequence.behavior_logp, joint)
        assert np.array_equal(np.packbits(sequence.extras["steps"]["legal"], axis=1), data.masks.numpy()[rows])


def test_every_line_shows_its_own_tick(played: Path, found: SequenceSet) -> None:
    """The seed's recorder kept references to live lists: every line of an episode showed the last place."""
    for file in sorted((played / "recorder").iterdir()):
        ticks = lines(file)
        assert [tick["tick_id"] for tick in ticks] == list(range(0, 2 * len(ticks), 2))
        places = {tuple(tick["observation"]["self_state"]["position"]) for tick in ticks}
        assert len(places) > len(ticks) / 2
    assert summary_of(found)["frozen"] == []


def test_a_game_can_be_started_rivals_move_and_a_death_ends_it_with_a_win(played: Path, found: SequenceSet) -> None:
    """In the seed none of this was so, and +1 could not be reached."""
    data = everything(played)
    assert {float(one) for one in data.returns[data.steps == 0]} >= {-1.0, 1.0}
    sums = np.zeros(GAMES)
    np.add.at(sums, data.games.numpy(), data.rewards.numpy())
    assert sums.tolist() == pytest.approx([0] * GAMES, abs=1e-6)
    rivals = np.concatenate([sequence.obs[sequence.obs[:, 15] > 0, 10:12] for sequence in found.sequences])
    assert len(np.unique(rivals, axis=0)) > 10
    assert all(sequence.terminated[-1] for sequence in found.sequences)


def test_the_nearest_comes_first_so_that_every_reader_sees_the_same(played: Path) -> None:
    several = 0
    for file in sorted((played / "recorder").iterdir()):
        for tick in lines(file):
            own = np.array(tick["observation"]["self_state"]["position"])
            for name in ("visible_entities", "visible_items"):
                away = [np.hypot(*(np.array(one["position"]) - own)) for one in tick["observation"][name]]
                several += len(away) > 1
                assert away == sorted(away)
                assert all(distance <= 12 for distance in away)
    assert several > 10


def test_all_four_abilities_are_in_the_files(found: SequenceSet) -> None:
    counts = summary_of(found)["actions"]["ability"]
    assert set(counts) == {"0", "1", "2", "3", "4"}


def test_back_to_trajectories_is_the_same_set(played: Path, found: SequenceSet, tmp_path: Path) -> None:
    header = TrajectoryDataset(played).header
    game = make_game(header.game, **header.options)
    made = as_trajectories(found, game)
    write_dataset(tmp_path / "set", made.header, [made.columns])
    TrajectoryDataset(tmp_path / "set").header.check_fits(game.facts)
    before, after = everything(played), everything(tmp_path / "set")
    for name in Decisions._fields:
        one, other = getattr(before, name).numpy(), getattr(after, name).numpy()
        if name == "observations":
            assert np.array_equal(one[:, :17], other[:, :17])
        else:
            assert np.array_equal(one, other, equal_nan=name == "log_probs"), name


def test_heads_that_the_game_does_not_have_are_refused(played: Path, found: SequenceSet) -> None:
    other = next(name for name, sizes in PRESETS.items() if sizes != found.sizes)
    with pytest.raises(DataError, match=r"--option observation=seed19 --option heads="):
        as_trajectories(found, make_game("Arena4P-v0", observation="seed19", heads=other))
    with pytest.raises(DataError, match="as asked for; bins="):
        load_sequences(played / "recorder", Reading(bins=7))


def test_a_game_that_does_not_go_as_recorded_is_refused(played: Path, tmp_path: Path) -> None:
    dataset = TrajectoryDataset(played)
    (columns,) = (from_table(table, dataset.header) for table in dataset.tables())
    seen = columns.observations.copy()
    seen[40, 0] += 1
    header = replace(dataset.header, extra_columns=())
    write_dataset(tmp_path / "set", header, [columns._replace(observations=seen, extras={})])
    with pytest.raises(
        ReplayError, match=rf"game {columns.games[40]} of Arena.*step {columns.steps[40]}.*record the games again"
    ):
        write_recorder(tmp_path / "set", tmp_path / "recorder")
    assert not (tmp_path / "recorder").exists()


def test_only_the_arena_is_written(tmp_path: Path, capsys: Capture) -> None:
    record("random", "HanabiTiny2P-v0", 1, tmp_path / "hanabi")
    with pytest.raises(DataError, match="games of HanabiTiny2P-v0; recorder files are made of"):
        write_recorder(tmp_path / "hanabi", tmp_path / "recorder")
    argv = ["record", "random", "--game", "HanabiTiny2P-v0", "--out", str(tmp_path / "none"), "--format", "recorder"]
    assert main(argv) == 2
    assert "--format recorder is for the arena" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_record_convert_and_check_from_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    games, options = str(tmp_path / "games"), ["--option", "observation=seed19", "--option", "heads=seed"]
    record_it = ["record", "random", "--game", "Arena2P-v0", *options, "--games", "2", "--out", games, "--format"]
    assert main([*record_it, "recorder"]) == 0
    files = sorted((tmp_path / "games" / "recorder").iterdir())
    assert [file.name for file in files] == [
        f"Arena2P-v0-0-0000000{game}_player_{seat}.jsonl.gz" for game in range(2) for seat in range(2)
    ]
    assert main(["convert", games, "--from", "ludory", "--to", "recorder", "--out", str(tmp_path / "again")]) == 0
    for file in files:
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    convert = ["convert", str(files[0].parent), "--from", "recorder", "--out", str(tmp_path / "set")]
    assert main([*convert, "--game", "Arena2P-v0", *options]) == 0
    capsys.readouterr()
    assert main(["check", "data", str(files[0].parent), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    data = everything(tmp_path / "set")
    assert (summary["episodes"], summary["steps"]) == (4, len(data.games))
    assert summary["ends"] == {"terminated": 4}
    assert main([*convert, "--to", "minari"]) == 2
    assert "leave --to out" in capsys.readouterr().err
