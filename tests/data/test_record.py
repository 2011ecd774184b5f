"""Recording games: what is written is what was played, in the same files whatever happened in between."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from games.nim import matching, nim

import ludory
import ludory.data.recording.record as record_module
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.record import record
from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.decisions import Decisions
from ludory.data.recording import record as units
from ludory.data.recording.decision_recorder import DecisionRecorder
from ludory.data.recording.record import Recorded
from ludory.data.shards import read_manifest
from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.errors import DataError, OptionError

TINY = "HanabiTiny2P-v0"
COUNT = 30
GAMES = {
    "Hanabi": make_game(TINY),
    "Nim": nim(largest=6),
    "Nim for 3 with two heads": nim(players=3, two_heads=True),
    "Nim cut off": nim(limit=3, largest=9),
    "Matching": matching(),
}


def everything(folder: Path) -> Decisions:
    return next(TrajectoryDataset(folder).batches(10**9))


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


@pytest.fixture(params=GAMES, scope="module")
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Game, Path]:
    game, folder = GAMES[request.param], tmp_path_factory.mktemp("recorded")
    record("random", game, COUNT, folder, seed=5, shard_games=12)
    return game, folder


def seen_by_movers(engine: Engine, games: Any, seats: Any) -> tuple[Any, Any]:
    """Observations as they are stored, and packed masks."""
    facts, legal = engine.facts, engine.legal()
    seen = np.stack([engine.observe(seat) for seat in range(facts.players)], 1)[games, seats].reshape(len(games), -1)
    masks = legal[games, seats] if facts.simultaneous else legal[games]
    return np.packbits(seen, axis=1) if facts.observation.bits else seen, np.packbits(masks, axis=1)


def play_again(game: Game, data: Decisions) -> Engine:
    """The engine after all recorded moves; on the way it shows what is recorded."""
    facts, engine = game.facts, make_engine(game, COUNT, seed=5)
    engine.reset()
    for step in range(int(data.steps.max()) + 1):
        now = data.steps == step
        games, seats = data.games[now].numpy(), data.seats[now].numpy()
        for stored, found in zip((data.observations, data.masks), seen_by_movers(engine, games, seats), strict=True):
            assert np.array_equal(stored[now].numpy(), found)
        chosen = np.zeros((COUNT, facts.players if facts.simultaneous else 1, len(facts.heads)), np.int64)
        chosen[games, seats if facts.simultaneous else 0] = data.actions[now].numpy()
        engine.step(chosen if facts.simultaneous else chosen.reshape(COUNT, *((-1,) if len(facts.heads) > 1 else ())))
    return engine


def test_a_recording_played_again_by_the_engine_shows_the_same_to_the_same_seats(recorded: tuple[Game, Path]) -> None:
    game, folder = recorded
    data = everything(folder)
    engine = play_again(game, data)
    assert (engine.to_move == -1).all()
    for ended, stored in ((engine.terminated, data.terminated), (engine.truncated, data.truncated)):
        last = {(int(g), int(s)): row for row, (g, s) in enumerate(zip(data.games, data.seats, strict=True))}
        expected = np.zeros(len(stored), bool)
        expected[list(last.values())] = [ended[one] for one, _ in last]
        assert np.array_equal(stored.numpy(), expected)


def test_what_a_seat_earned_before_and_what_it_gets_from_here_on_is_its_return(recorded: tuple[Game, Path]) -> None:
    game, folder = recorded
    data = everything(folder)
    earned = np.concatenate([table["earned"].to_numpy() for table in TrajectoryDataset(folder).tables()])
    returns = evaluate("random", game, games=COUNT, seed=5, batch=12).returns
    assert np.allclose(earned + data.returns.numpy(), returns[data.games, data.seats])


def test_a_return_is_the_sum_of_the_seat_s_rewards_from_there_on(recorded: tuple[Game, Path]) -> None:
    _, folder = recorded
    data = everything(folder)
    for row in range(0, len(data.games), 7):
        mine = (data.games == data.games[row]) & (data.seats == data.seats[row]) & (data.steps >= data.steps[row])
        assert data.returns[row] == pytest.approx(float(data.rewards[mine].sum()))


def test_random_agents_say_how_probable_their_choice_was_and_bots_do_not(recorded: tuple[Game, Path]) -> None:
    game, folder = recorded
    data, sizes = everything(folder), game.facts.head_sizes
    masks = np.unpackbits(data.masks.numpy(), axis=1, count=sum(sizes))
    legal = np.stack([part.sum(1) for part in np.split(masks, np.cumsum(sizes)[:-1], axis=1)], 1)
    assert np.allclose(np.exp(-data.log_probs.numpy()), legal)


def test_rule_bots_can_not_say_it(tmp_path: Path) -> None:
    record("hanabi/iggi", TINY, 3, tmp_path)
    assert everything(tmp_path).log_probs.isnan().all()


@pytest.mark.parametrize("deterministic", [True, False])
def test_networks_say_how_probable_their_choice_was(deterministic: bool, tmp_path: Path) -> None:
    from ludory.algorithms.make import make_algorithm

    model = make_algorithm("ppo", env=TINY, num_envs=4, seed=1)
    model.save(tmp_path / "model.ludory")
    spec = f"{tmp_path / 'model.ludory'}(deterministic={deterministic})"
    record(spec, TINY, 20, tmp_path / "set", seed=2)
    data = everything(tmp_path / "set")
    if deterministic:
        assert (data.log_probs == 0).all()
        return
    masks = torch.from_numpy(np.unpackbits(data.masks.numpy(), axis=1, count=8)).bool()
    logits = model.policy(data.observations, None).logits
    expected = model.policy.distribution(logits, masks).log_prob(data.actions)
    assert torch.allclose(data.log_probs, expected, atol=1e-5)
    assert data.log_probs.exp().mean() < 0.9


def test_the_agent_of_each_seat_plays_it_and_is_named(tmp_path: Path) -> None:
    record(["random", "hanabi/iggi"], TINY, 5, tmp_path)
    data = everything(tmp_path)
    assert TrajectoryDataset(tmp_path).header.agents == ("random", "hanabi/iggi")
    assert torch.equal(data.log_probs[:, 0].isnan(), data.seats == 1)


def test_a_recording_that_lost_files_is_filled_up_to_the_same_bytes(tmp_path: Path) -> None:
    record("random", TINY, 25, tmp_path, seed=1, shard_games=5)
    whole = digests(tmp_path)
    (tmp_path / "part-00001.parquet").unlink()
    cut = tmp_path / "part-00003.parquet"
    cut.write_bytes(cut.read_bytes()[:-100])
    record("random", TINY, 25, tmp_path, seed=1, shard_games=5)
    assert digests(tmp_path) == whole


def test_a_byte_that_changed_inside_a_shard_is_found(tmp_path: Path) -> None:
    record("random", TINY, 10, tmp_path, seed=1)
    whole, file = digests(tmp_path), tmp_path / "part-00000.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 255
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"part-00000\.parquet"):
        TrajectoryDataset(tmp_path)
    record("random", TINY, 10, tmp_path, seed=1)
    assert digests(tmp_path) == whole


def test_intact_shards_are_not_played_again(tmp_path: Path) -> None:
    record("random", TINY, 10, tmp_path, shard_games=5)
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert record("random", TINY, 10, tmp_path, shard_games=5) == Recorded(10, 10)
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


def test_a_set_grows_to_the_one_that_had_been_asked_for_at_once(tmp_path: Path) -> None:
    for games in (7, 12):
        record("random", TINY, games, tmp_path / "grown", seed=1, shard_games=5)
    record("random", TINY, 12, tmp_path / "whole", seed=1, shard_games=5)
    assert digests(tmp_path / "grown") == digests(tmp_path / "whole")
    assert TrajectoryDataset(tmp_path / "grown").num_games == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agents": "hanabi/iggi"}, r"'agents'.*\['random', 'random'\].*\['hanabi/iggi', 'hanabi/iggi'\]"),
        ({"game": "HanabiSmall2P-v0"}, "'game'.*HanabiTiny2P-v0.*HanabiSmall2P-v0"),
        ({"seed": 8}, "'seed'.*has 7, asked for is 8"),
        ({"bomb": "keep"}, r"'options'.*\{\}.*\{'bomb': 'keep'\}"),
        ({"shard_games": 4}, "'shard_games'.*has 5, asked for is 4"),
        ({"games": 9}, "'games'.*has 10, asked for are 9"),
    ],
)
def test_another_recording_in_the_same_folder_is_refused_with_both_named(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    first: dict[str, Any] = {"agents": "random", "game": TINY, "games": 10, "seed": 7, "shard_games": 5}
    record(**first, folder=tmp_path)
    before = digests(tmp_path)
    with pytest.raises(DataError, match=message):
        record(**first | change, folder=tmp_path)
    assert digests(tmp_path) == before


def test_a_checkpoint_that_changed_in_between_is_refused(tmp_path: Path) -> None:
    from ludory.algorithms.make import make_algorithm

    model = make_algorithm("ppo", env=TINY, num_envs=4, seed=1)
    model.save(tmp_path / "model.ludory")
    record(str(tmp_path / "model.ludory"), TINY, 2, tmp_path / "set")
    make_algorithm("ppo", env=TINY, num_envs=4, seed=2).save(tmp_path / "model.ludory")
    with pytest.raises(DataError, match="'checkpoints'"):
        record(str(tmp_path / "model.ludory"), TINY, 2, tmp_path / "set")


def test_wrong_numbers_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for wrong in ({"games": 0}, {"shard_games": 0}, {"seed": -1}, {"agents": ["random"] * 3}):
        with pytest.raises(OptionError):
            record(**{"agents": "random", "game": TINY, "games": 1} | wrong, folder=tmp_path / "set")  # type: ignore[arg-type]
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("harm", ["remove", "replace", "cut", "manifest"])
def test_a_recording_whose_files_are_gone_does_not_claim_success(
    harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Each of 12 shards is looked for after the next one; what is gone is named, and the same command writes it again."""
    write, file = units.write_shard, tmp_path / "set" / "part-00001.parquet"

    def harming(target: Path, *rest: Any) -> None:
        write(target, *rest)
        if target.name != "part-00004.parquet":
            return
        if harm == "cut":
            os.truncate(file, 100)
        elif harm == "replace":
            target.with_name("part-00002.parquet").replace(file)
        else:
            (file.with_name("dataset.json") if harm == "manifest" else file).unlink()

    monkeypatch.setattr(units, "write_shard", harming)
    command = [*COMMAND, "--out", str(tmp_path / "set")]
    assert main(command) == 2
    said = capsys.readouterr()
    assert (file.name if harm != "manifest" else "dataset.json is gone") in said.err
    assert "60 games" not in said.out
    assert not (tmp_path / "set" / "part-00006.parquet").exists(), "it ends soon"
    monkeypatch.undo()
    assert main(command) == 0
    assert TrajectoryDataset(tmp_path / "set").num_games == 60


def test_two_processes_share_the_shards_and_a_larger_set_is_not_made_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads stand for processes: locks are of open files."""
    play, played = units.PlayedShards.play, []

    def counted(*arguments: Any) -> Any:
        played.append(arguments[-1])
        return play(*arguments)

    monkeypatch.setattr(units.PlayedShards, "play", counted)
    done: list[Recorded] = []
    workers = [
        threading.Thread(
            target=lambda: done.append(record("random", TINY, 40, tmp_path / "set", seed=1, shard_games=5))
        )
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert done == [Recorded(40, 40)] * 2
    assert sorted(played) == list(range(8))
    manifest = read_manifest(tmp_path / "set")
    smaller = manifest._replace(games=38)
    assert list(
        record_module._steps(
            tmp_path / "set", smaller, lambda missing: lambda number, file: pytest.fail("all are there")
        )
    ) == [5] * 7 + [3]
    assert TrajectoryDataset(tmp_path / "set").num_games == 40


@pytest.mark.slow
def test_a_shard_that_is_written_leaves_no_memory_behind() -> None:
    """Without the garbage collector: a batch that only it can free stays until it happens to run, a few MB each."""
    gc.collect()
    gc.disable()
    try:
        game = GAMES["Nim"]
        engine = make_engine(game, 3, seed=1)
        gone = weakref.ref(engine)
        DecisionRecorder(game, engine, [ludory.make_agent("random", game=game)] * 2).play(0, 1)
        del engine
        assert gone() is None
    finally:
        gc.enable()


COMMAND = ["record", "random", "--game", TINY, "--seed", "3", "--games", "60", "--shard-games", "5"]


def test_the_command_says_where_the_games_are_and_what_to_type_next(tmp_path: Path, capsys: Any) -> None:
    assert main([*COMMAND, "--out", str(tmp_path)]) == 0
    said, *hint = capsys.readouterr().out.splitlines()
    assert hint == ["next:", f"  ludory watch {tmp_path} --row 0", f"  ludory train bc --data {tmp_path}"]
    assert said.startswith(f"60 games of {TINY} in {tmp_path}")
    assert "part-00000.parquet to part-" in said


def test_a_recording_is_summed_up_and_checked(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "games"
    main([*COMMAND, "--out", str(folder)])
    capsys.readouterr()
    assert main(["check", "data", str(folder)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{folder}: 60 games of {TINY}, ")
    mean = ludory.evaluate("random", TINY, games=60, seed=3).mean
    assert second.startswith(f"  mean return by seat, from its first decision on: random {mean:.3f}, random ")
    assert main(["check", "data", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[str(folder)]["games"] == 60
    assert main(["check", "data", str(folder), str(tmp_path)]) == 2
    assert "is not a folder of `ludory record`" in capsys.readouterr().err
    (folder / "part-00003.parquet").write_bytes(b"PAR1")
    assert main(["check", "data", str(folder)]) == 2
    assert "part-00003.parquet" in capsys.readouterr().err


def test_one_file_is_named_once(tmp_path: Path, capsys: Any) -> None:
    assert main([*COMMAND, "--out", str(tmp_path), "--shard-games", "60"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("part-00000.parquet)")
    assert TrajectoryDataset(tmp_path).num_games == 60


def started(folder: Path, games: int) -> subprocess.Popen[str]:
    """The command in a process of its own, after its first shards."""
    command = [*COMMAND, "--out", str(folder), "--games", str(games)]
    process = subprocess.Popen([sys.executable, "-m", "ludory", *command], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (folder / "part-00002.parquet").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return process


def test_a_killed_recording_goes_on_to_the_same_files(tmp_path: Path) -> None:
    process = started(tmp_path / "killed", 400)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "killed" / "part-00079.parquet").exists()
    with pytest.raises(DataError, match=r"part-\d+\.parquet, field 'file': got No such file"):
        TrajectoryDataset(tmp_path / "killed")
    for name in ("killed", "whole"):
        record("random", TINY, 400, tmp_path / name, seed=3, shard_games=5)
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole"), "no temporary file is left either"


@pytest.mark.slow
def test_ctrl_c_finishes_the_shard_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = started(tmp_path, 5000)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "go on with the same command" in said.splitlines()[-1]
    games = int(said.split("interrupted: ")[1].split(" of 5,000 games")[0].replace(",", ""))
    assert len(list(tmp_path.glob("part-*.parquet"))) == games // 5
    assert json.loads((tmp_path / "dataset.json").read_text())["games"] == 5000
