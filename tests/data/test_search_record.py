"""Searches are recorded game by game: nothing finished is lost, nothing is played twice, and the log that is written reads back the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import ludory
from ludory.agents.evaluation.record import record
from ludory.claims import claimed
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.columns import from_table
from ludory.data.dataset import LAST_MOVES
from ludory.data.decisions import discounted
from ludory.data.formats.sparta.log import read_sparta_log
from ludory.data.formats.sparta.writer import write_sparta_log
from ludory.data.recording.search_record import RESULTS, SearchedGames, game_file, recorded_games
from ludory.data.shards import read_manifest, shard_file
from ludory.errors import DataError, OptionError, OutputError

pytestmark = pytest.mark.slow

GAME = "HanabiTiny2P-v0"
SPARTA = "sparta(hanabi/smartbot, rollouts=48)"
GAMES, NONE = 6, 8
OPTIONS: dict[str, Any] = {"seed": 3, "shard_games": 4}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    assert record(SPARTA, GAME, GAMES, folder, **OPTIONS) == (GAMES, GAMES)
    return folder


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [
        row for k in range(read_manifest(folder).shards) for row in pq.read_table(shard_file(folder, k)).to_pylist()
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def plays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the games that are played from now on."""
    played: list[int] = []
    play = SearchedGames.play
    monkeypatch.setattr(SearchedGames, "play", lambda self, number: played.append(number) or play(self, number))
    return played


def games_on_disk(folder: Path) -> list[int]:
    return [int(rows["game"][0].as_py()) for rows in recorded_games(folder, read_manifest(folder))]


def test_every_decision_stands_with_what_the_search_found(recorded: Path) -> None:
    rows = rows_of(recorded)
    assert sorted({row["game"] for row in rows}) == list(range(GAMES))
    assert {row["seat"] for row in rows if row["searched"]} == {0, 1}
    before = None
    for row in rows:
        first = before is None or before["game"] != row["game"]
        assert row["prev_other_action"] == (NONE if first else before["action_action"])
        mask = np.unpackbits(np.frombuffer(row["mask"], np.uint8), count=NONE).astype(bool)
        q, errors, counts = (np.array(row[name]) for name in ("q", "q_stderr", "q_count"))
        if row["searched"]:
            assert row["seat"] == row["game"] % 2, "one seat searches, another one in the next game"
            assert np.array_equal(np.isfinite(q), mask)
            assert np.array_equal(counts > 0, mask)
            assert errors[row["action_blueprint"]] == 0
            assert row["rollouts"] == counts.sum() <= 48
            assert row["gain"] == pytest.approx(q[row["action_action"]] - q[row["action_blueprint"]], abs=1e-5)
        else:
            assert np.isnan(q).all()
            assert not counts.any()
            assert row["rollouts"] is row["gain"] is None
            assert row["action_blueprint"] == row["action_action"], "it is the blueprint, or has no choice"
        assert row["is_override"] == (row["action_action"] != row["action_blueprint"])
        before = row
    header = read_manifest(recorded).header
    assert header.search["blueprint"] == "hanabi/smartbot"
    assert header.search["rollouts"] == 48


def test_games_go_as_recorded_by_the_rules(recorded: Path) -> None:
    """Decks, masks, scores and lives of the files, against a game played again from its deck."""
    rows, results = rows_of(recorded), pq.read_table(recorded / RESULTS).to_pylist()
    assert [one["game"] for one in results] == list(range(GAMES))
    for result in results:
        engine = ludory.make_engine(GAME, num_games=1)
        engine.reset(options={"deck": np.array([result["deck"]], np.uint8)})
        total, mine = 0.0, [row for row in rows if row["game"] == result["game"]]
        for row in mine:
            assert engine.to_move[0] == row["seat"]
            assert np.array_equal(np.packbits(engine.legal()[0]), np.frombuffer(row["mask"], np.uint8))
            assert (row["score_so_far"], row["stacks"]) == (int(total), int(engine.state.fireworks[0].sum()))
            assert row["lives"] == int(engine.state.lives[0])
            engine.step(np.array([row["action_action"]]))
            total += float(engine.rewards[0, 0])
        assert engine.terminated[0]
        assert (result["score"], result["moves"], result["return"]) == (int(total), len(mine), [total, total])


# --- Stopping and going on. -------------------------------------------------------------------------------------------


def test_a_recording_that_was_stopped_anywhere_ends_with_the_same_files(recorded: Path, tmp_path: Path) -> None:
    for stop in (1, 3, 4, 5):
        folder, told = tmp_path / str(stop), []

        def until(games: int, told: list[int] = told, stop: int = stop) -> bool:
            told.append(games)
            return sum(told) >= stop

        assert record(SPARTA, GAME, GAMES, folder, progress=until, **OPTIONS) == (stop, GAMES)
        assert record(SPARTA, GAME, GAMES, folder, **OPTIONS) == (GAMES, GAMES)
        assert contents(folder) == contents(recorded)


def test_only_what_is_missing_is_played(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = plays(monkeypatch)
    record(SPARTA, GAME, 3, tmp_path, **OPTIONS)
    record(SPARTA, GAME, GAMES, tmp_path, **OPTIONS)  # the first shard grows, its games stay
    assert played == [0, 1, 2, 3, 4, 5]
    record(SPARTA, GAME, GAMES, tmp_path, **OPTIONS)
    assert len(played) == 6
    table, header = pq.read_table(shard_file(tmp_path, 0)), read_manifest(tmp_path).header
    part = table.filter(np.isin(table["game"].to_numpy(), (0, 3)))
    game_file(tmp_path, 0, 0).parent.mkdir(exist_ok=True)
    pq.write_table(part, game_file(tmp_path, 0, 7))
    shard_file(tmp_path, 0).write_bytes(b"damaged")
    record(SPARTA, GAME, GAMES, tmp_path, **OPTIONS)
    assert played[6:] == [1, 2], "the shard is gone, two of its games lay beside it"
    assert contents(tmp_path) == contents(recorded)
    assert header == read_manifest(tmp_path).header


def command(folder: Path, *more: str) -> list[str]:
    options = ["--seed", "3", "--shard-games", "4", "--out", str(folder)]
    return ["record", SPARTA, "--game", GAME, *options, *more]


def test_ctrl_c_keeps_the_games_that_are_over_and_the_log_of_them(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = SearchedGames.play

    def interrupted(self: SearchedGames, number: int) -> Any:
        if number == 1:
            signal.raise_signal(signal.SIGINT)
        return play(self, number)

    monkeypatch.setattr(SearchedGames, "play", interrupted)
    line = command(tmp_path, "--games", str(GAMES), "--format", "jsonl")
    assert main(line) == 130
    assert "interrupted: 2 of 6 games" in capsys.readouterr().out
    assert set(read_sparta_log(tmp_path / "sparta_games.jsonl", GAME).columns.games) == {0, 1}
    monkeypatch.undo()
    assert main(line) == 0
    assert len(read_sparta_log(tmp_path / "sparta_games.jsonl", GAME).columns.games) == len(rows_of(recorded))
    (tmp_path / "sparta_games.jsonl").unlink()
    assert contents(tmp_path) == contents(recorded)


def test_a_killed_recording_loses_no_finished_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games, line = tmp_path / "killed" / "part-00000.games", command(tmp_path / "killed", "--games", "24")
    process = subprocess.Popen([sys.executable, "-m", "ludory", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while len(list(games.glob("*.parquet"))) < 2 and not shard_file(games.parent, 0).exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    kept = games_on_disk(games.parent)
    played = plays(monkeypatch)
    assert main(line) == 0
    assert len(kept) >= 2
    assert sorted(played + kept) == list(range(24)), "what was kept is not played again"
    monkeypatch.undo()
    record(SPARTA, GAME, 24, tmp_path / "whole", **OPTIONS)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_two_processes_share_the_games_and_take_over_those_of_a_dead_one(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads stand for processes: locks are of open files."""
    played, done = plays(monkeypatch), []

    def work() -> None:
        done.append(record(SPARTA, GAME, GAMES, tmp_path, **OPTIONS))

    with claimed(game_file(tmp_path, 0, 2)):  # of a third process
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        while len(set(played)) < GAMES - 1:
            time.sleep(0.01)
        assert 2 not in played
    for worker in workers:
        worker.join()
    assert sorted(played) == list(range(GAMES)), "none twice"
    assert done == [(GAMES, GAMES)] * 2
    assert contents(tmp_path) == contents(recorded)


def test_games_that_somebody_removes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = SearchedGames.play

    def harming(self: SearchedGames, number: int) -> Any:
        if number == 2:
            game_file(tmp_path, 0, 0).unlink()
        return play(self, number)

    monkeypatch.setattr(SearchedGames, "play", harming)
    with pytest.raises(OutputError, match=r"0000000000\.parquet is gone: somebody"):
        record(SPARTA, GAME, GAMES, tmp_path, **OPTIONS)
    monkeypatch.undo()
    assert games_on_disk(tmp_path) == [1, 2]


def test_logs_that_are_there_grow_with_the_recording(tmp_path: Path) -> None:
    assert main(command(tmp_path, "--games", "2", "--format", "jsonl")) == 0
    assert main(command(tmp_path, "--games", "3", "--format", "json")) == 0
    for name in ("sparta_games.jsonl", "sparta_games.json"):
        assert set(read_sparta_log(tmp_path / name, GAME).columns.games) == {0, 1, 2}


# --- Seats. -----------------------------------------------------------------------------------------------------------


def test_seats_can_be_given_and_strangers_have_no_blueprint(tmp_path: Path) -> None:
    record([SPARTA, "hanabi/smartbot"], GAME, 2, tmp_path / "one", seed=1)
    assert {(row["seat"], row["searched"]) for row in rows_of(tmp_path / "one")} >= {(0, True), (1, False)}
    assert all(not row["is_override"] for row in rows_of(tmp_path / "one") if row["seat"] == 1)
    record(["hanabi/iggi", SPARTA], GAME, 1, tmp_path / "other", seed=1)
    stranger = [row for row in rows_of(tmp_path / "other") if row["seat"] == 0]
    assert stranger
    assert all(row["action_blueprint"] is row["is_override"] is None for row in stranger)
    assert all(row["searches"] is False and row["contradictions"] is None for row in stranger)
    assert all(row["contradictions"] == 0 for row in rows_of(tmp_path / "one") if row["seat"] == 0)
    told = [row["contradictions"] for row in rows_of(tmp_path / "other") if row["searches"]]
    assert told == sorted(told)
    assert told[-1] > 0, "iggi does what smartbot would not"
    record(SPARTA[:-1] + ", joint=True)", GAME, 3, tmp_path / "joint", seed=1)
    with pytest.raises(OptionError, match="a joint search takes the other seat for its like"):
        record([SPARTA[:-1] + ", joint=True)", "hanabi/smartbot"], GAME, 1, tmp_path / "alone")
    together = rows_of(tmp_path / "joint")
    assert all({row["seat"] for row in together if row["searched"] and row["game"] == k} == {0, 1} for k in range(3))
    assert all(row["searches"] for row in together)


# --- Logs. ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "legal"), [("jsonl", "mask"), ("json", "mask"), ("jsonl", "ids"), ("json", "ids")])
def test_a_log_reads_back_as_it_was_recorded(form: Any, legal: Any, recorded: Path, tmp_path: Path) -> None:
    manifest = read_manifest(recorded)
    count = write_sparta_log(tmp_path / "log", manifest.header, recorded_games(recorded, manifest), form, legal)
    log, rows = read_sparta_log(tmp_path / "log", GAME), rows_of(recorded)
    assert count == len(rows) == len(log.columns.games)
    assert not log.unknown_fields
    assert log.header.options["bomb"] == "zero"
    for name in ("game", "step", "seat", "reward", "terminated", "truncated"):
        column = {"game": "games", "step": "steps", "seat": "seats", "reward": "rewards"}.get(name, name)
        assert getattr(log.columns, column).tolist() == [row[name] for row in rows], name
    assert log.columns.actions[:, 0].tolist() == [row["action_action"] for row in rows]
    assert [bytes(one) for one in log.columns.observations] == [row["observation"] for row in rows]
    assert [bytes(one) for one in log.columns.masks] == [row["mask"] for row in rows]
    for name, values in log.columns.extras.items():
        if not name.startswith("log_"):
            expected = [row[name] for row in rows]
            found = [None if value is None else np.asarray(value).tolist() for value in values]
            same = [
                a == b or np.array_equal(np.float32(a), np.float32(b), equal_nan=True)
                for a, b in zip(found, expected, strict=True)
            ]
            assert all(same), name


def test_a_log_has_the_fields_of_the_seed_and_the_move_s_own_reward(recorded: Path, tmp_path: Path) -> None:
    assert main(["convert", str(recorded), "--from", "ludory", "--to", "sparta", "--out", str(tmp_path)]) == 0
    records = [json.loads(line) for line in (tmp_path / "sparta_games.jsonl").read_text().splitlines()]
    seed = {
        "game_id",
        "t",
        "seat",
        "obs_vec",
        "legal_mask",
        "action_sparta",
        "reward",
        "done",
        "prev_other_action",
        "action_blueprint",
    }
    assert all(seed <= set(one) for one in records)
    assert {(one["action_order"], one["bomb"]) for one in records} == {("ludory", "zero")}
    assert all(("Q_values" in one) == one["searched"] for one in records)
    for one, following in zip(records, [*records[1:], None], strict=True):
        if following and following["game_id"] == one["game_id"]:
            assert one["reward"] == following["score_so_far"] - one["score_so_far"]
        assert one["done"] == (following is None or following["game_id"] != one["game_id"])


def test_what_can_not_be_a_log_is_refused(recorded: Path, tmp_path: Path) -> None:
    manifest = read_manifest(recorded)
    with pytest.raises(OptionError, match="form='xml': must be one of jsonl, json"):
        write_sparta_log(tmp_path / "log", manifest.header, [], "xml")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no whole game"):
        write_sparta_log(tmp_path / "log", manifest.header, [])
    gap = pq.read_table(shard_file(recorded, 0)).slice(1)
    with pytest.raises(DataError, match="not all moves are recorded"):
        write_sparta_log(tmp_path / "log", manifest.header, [gap])
    assert not list(tmp_path.iterdir())
    assert (
        main(
            [
                "record",
                "random",
                "--game",
                "Texas42-v0",
                "--games",
                "1",
                "--format",
                "json",
                "--out",
                str(tmp_path / "x"),
            ]
        )
        == 2
    )


# --- What learners read of it. ----------------------------------------------------------------------------------------


def test_extra_columns_last_moves_and_discounts_are_read_on_demand(recorded: Path) -> None:
    data = TrajectoryDataset(recorded, extras=("q", "nothing", "action_blueprint", LAST_MOVES), discount=0.5)
    assert list(data.layout) == ["q", "action_blueprint", LAST_MOVES]
    read, rows = next(data.batches(10_000)), rows_of(recorded)
    expected = np.array([row["q"] for row in rows], np.float32)
    assert np.array_equal(read.extras[:, data.layout["q"]].numpy(), expected, equal_nan=True)
    assert read.extras[:, data.layout["action_blueprint"]].flatten().tolist() == [
        row["action_blueprint"] for row in rows
    ]
    moves = read.extras[:, data.layout[LAST_MOVES]]
    plain = next(TrajectoryDataset(recorded).batches(10_000))
    assert plain.extras.shape == (len(rows), 0)
    for k, row in enumerate(rows):
        for seat in range(2):
            earlier = [one["action_action"] for one in rows[:k] if (one["game"], one["seat"]) == (row["game"], seat)]
            assert moves[k, seat] == (earlier[-1] if earlier else NONE)
        own = [(j, one) for j, one in enumerate(rows) if one["game"] == row["game"] and j >= k]
        to_come = [float(plain.returns[j]) for j, _ in own] + [0.0]
        value = sum(0.5 ** (j - k) * (to_come[n] - to_come[n + 1]) for n, (j, _) in enumerate(own))
        assert read.returns[k] == pytest.approx(value)
    assert np.array_equal(
        discounted(plain.games.numpy(), plain.steps.numpy(), plain.returns.numpy(), 1.0), plain.returns.numpy()
    )
    sequences = next(data.sequences(GAMES))
    assert sequences.decisions.extras.shape[2] == read.extras.shape[1]
    assert from_table(next(data.tables()), data.header).extras == {}
