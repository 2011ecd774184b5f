"""The flywheel: what is stopped or killed goes on to the same end, and only what is better takes the blueprint's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ludory
from ludory.agents.evaluation.record import record
from ludory.algorithms.flywheel import machine
from ludory.algorithms.flywheel.config import FlywheelConfig
from ludory.algorithms.flywheel.machine import Flywheel, start_flywheel
from ludory.algorithms.flywheel.state import STATE, FlywheelState
from ludory.cli import main
from ludory.data.recording.search_record import SearchedGames, recorded_games
from ludory.data.shards import read_manifest
from ludory.envs.make import make_game
from ludory.errors import DataError, LudoryError, OptionError, OutputError

pytestmark = pytest.mark.slow

TINY = {
    "env": "HanabiTiny2P-v0",
    "blueprint": "hanabi/piers",
    "search": "sparta({blueprint}, rollouts=20)",
    "learner": "bc",
    "learner_options": {"num_epochs": 2, "split_ratio": (1.0, 0.0, 0.0)},
    "policy": "mlp(hidden=(8,))",
    "games": 4,
    "eval_games": 6,
    "turns": 1,
    "seed": 3,
}
COMMAND = [
    "--env=HanabiTiny2P-v0",
    "--blueprint=hanabi/piers",
    "--search=sparta({blueprint}, rollouts=2000)",
    "--learner=bc",
    "--policy=mlp(hidden=(8,))",
    "--games=25",
    "--eval-games=6",
    "--turns=1",
]


def test_a_turn_runs_step_by_step_and_a_stopped_one_goes_on(tmp_path: Path) -> None:
    steps, shown = [], {}

    @contextmanager
    def bar(step: str, games: int) -> Iterator[Callable[[int], None]]:
        shown[step] = [games]
        yield shown[step].append

    with start_flywheel(FlywheelConfig(**TINY), tmp_path) as flywheel:
        assert flywheel.run(once=True)
    while not FlywheelState.read(tmp_path).finished:
        steps.append(FlywheelState.read(tmp_path).step)
        assert f"turn 1 of 1, {steps[-1]}:" in FlywheelState.read(tmp_path).plan(tmp_path)
        with Flywheel.resume(tmp_path) as flywheel:
            assert flywheel.run(once=True, bar=bar)
    assert steps == ["distil", "evaluate", "promote"]
    assert shown == {"evaluate": [6, 0, 6]}
    (turn,) = FlywheelState.read(tmp_path).history
    scores = json.loads((tmp_path / "turn-000" / "scores.json").read_text())
    differences = np.subtract(scores["policy"], scores["blueprint"])
    assert (turn.games, turn.ahead) == (6, pytest.approx(differences.mean()))
    assert turn.promoted == (turn.lower > 0)
    assert FlywheelState.read(tmp_path).blueprint == (turn.policy if turn.promoted else "hanabi/piers")
    again = ludory.evaluate(str(tmp_path / turn.policy), TINY["env"], games=6, seed=flywheel_seed(tmp_path))
    np.testing.assert_array_equal(again.returns[:, 0], scores["policy"])


def flywheel_seed(folder: Path) -> int:
    """Of the decks of the first turn."""
    with start_flywheel(FlywheelConfig(**TINY), folder / "other") as flywheel:
        return flywheel._seed(1)


def test_team_games_compare_team_with_team_in_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seats 0 and 2 are a team: a new player is worth what two of them win together, not what one does beside a blueprint."""
    seatings = []

    def play(seats, game, games, seed, first_game):
        """Each deck is worth `deck` more to Team 0, each new player 2 to its team and half of that with a stranger as its partner."""
        new = np.array([str(seat).endswith("policy.ludory") for seat in seats])
        seatings.append((new.tolist(), games, seed, first_game))
        worth = [2 * new[team::2].sum() / (1 if new[team::2].all() else 2) for team in (0, 1)]
        ahead = np.arange(games) + worth[0] - worth[1]
        return SimpleNamespace(returns=np.stack([ahead, -ahead] * 2, 1))

    monkeypatch.setattr(machine, "evaluate", play)
    with machine.Flywheel(tmp_path, FlywheelState(FlywheelConfig(**TINY), TINY["blueprint"])) as flywheel:
        ours, its = flywheel._compared(make_game("Texas42Play-v0"), {"games": 3, "seed": 5, "first_game": 250})
    assert seatings == [([True, False] * 2, 3, 5, 250), ([False, True] * 2, 3, 5, 250)]
    assert ours.tolist() == [4, 4, 4], "what the deck gives goes with the place"
    assert its.tolist() == [-4, -4, -4]


def test_the_next_turn_searches_from_what_was_promoted_and_leaves_what_was_not(tmp_path: Path) -> None:
    for scores, best in (
        ({"policy": [9, 8, 9], "blueprint": [1, 1, 2]}, True),
        ({"policy": [1, 9], "blueprint": [2, 1]}, False),
    ):
        folder = tmp_path / str(best)
        with start_flywheel(FlywheelConfig(**TINY | {"turns": 2}), folder) as flywheel:
            assert flywheel.run(once=True)
        state = json.loads((folder / STATE).read_text())
        (folder / STATE).write_text(json.dumps(state | {"step": "promote"}))
        (folder / "turn-000" / "scores.json").write_text(json.dumps(scores))
        (folder / "turn-000" / "policy.ludory").touch()
        with Flywheel.resume(folder) as flywheel:
            assert flywheel.run(once=True)
        wanted = f"sparta({folder / 'turn-000' / 'policy.ludory'}," if best else "sparta(hanabi/piers,"
        assert wanted in FlywheelState.read(folder).plan(folder)
        assert "turn 2 of 2, search" in FlywheelState.read(folder).plan(folder)


def test_distilling_goes_on_from_the_blueprint_that_is_a_network_wherever_its_file_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_flywheel(
        FlywheelConfig(**TINY | {"policy": "gru(hidden=(8,), memory_size=8)"}), tmp_path / "bot"
    ) as first:
        assert first.run()
    network = tmp_path / "bot" / "turn-000" / "policy.ludory"
    options = {"num_epochs": 1, "split_ratio": (1.0, 0.0, 0.0), "learning_rate": 1e-9}
    second = {"blueprint": str(network), "learner": "distill", "learner_options": options, "policy": "auto"}
    monkeypatch.chdir(network.parent)
    near = second | {"blueprint": network.name, "games": 2}
    with start_flywheel(FlywheelConfig(**TINY | near), tmp_path / "network") as flywheel:
        assert flywheel.run(once=True)
    monkeypatch.chdir(tmp_path)
    network = network.rename(tmp_path / "elsewhere.ludory")
    with Flywheel.resume(tmp_path / "network") as flywheel:
        assert flywheel.run()
    (turn,) = FlywheelState.read(tmp_path / "network").history
    assert (turn.blueprint, turn.ahead, turn.promoted) == ("blueprint.ludory", 0.0, False), "hardly a step from there"
    assert (tmp_path / "network" / turn.blueprint).read_bytes() == network.read_bytes()
    one, other = (ludory.load(file).policy for file in (network, tmp_path / "network" / turn.policy))
    for mine, its in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, its, rtol=0, atol=1e-6)


def test_what_was_searched_before_a_kill_is_kept_and_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "ludory", "flywheel", "run", *COMMAND, f"--out={killed}", "--once"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 300
    while len(files(killed)) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert (process.returncode, FlywheelState.read(killed).step, len(files(killed)) >= 3) == (-9, "search", True)
    recording = killed / "turn-000" / "searched"
    kept = [int(rows["game"][0].as_py()) for rows in recorded_games(recording, read_manifest(recording))]
    played: list[int] = []
    play = SearchedGames.play
    monkeypatch.setattr(SearchedGames, "play", lambda self, number: played.append(number) or play(self, number))
    assert main(["flywheel", "resume", str(killed), "--once"]) == 0
    monkeypatch.undo()
    assert sorted(played + kept) == list(range(25))
    assert main(["flywheel", "run", *COMMAND, f"--out={whole}", "--once"]) == 0
    assert FlywheelState.read(killed).step == "distil"
    one, other = (contents(folder / "turn-000" / "searched") for folder in (whole, killed))
    assert one == other


def test_a_stop_ends_behind_the_game_that_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start_flywheel(FlywheelConfig(**TINY), tmp_path) as flywheel:

        def stopping(*arguments, progress, **options):
            def after_game(games):
                if games:
                    flywheel.stop()
                return progress(games)

            return record(*arguments, progress=after_game, **options)

        monkeypatch.setattr(machine, "record", stopping)
        assert not flywheel.run()
    assert (FlywheelState.read(tmp_path).step, len(files(tmp_path))) == ("search", 1)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.parquet") if not file.name.startswith("."))


def test_what_can_not_be_run_is_refused(tmp_path: Path) -> None:
    for change, message in (
        ({"search": "sparta(hanabi/piers)"}, "must hold {blueprint} once"),
        ({"games": 0}, "games=0: must be an integer of at least 1"),
        ({"confidence": 1.0}, "confidence=1.0: must lie in"),
        ({"learner": "ppo"}, "learner='ppo': must learn from recorded games"),
        ({"learner_options": {"dataset": "x"}}, "the flywheel itself sets it"),
    ):
        with pytest.raises(OptionError, match=message.replace("(", r"\(").replace("{", r"\{")):
            FlywheelConfig(**TINY | change)
    for change, message in (
        ({"learner_options": {"num_epoch": 2}}, "num_epoch"),
        ({"learner_options": {"num_epochs": "x"}}, "num_epochs='x': must be an integer"),
        ({"learner_options": {"split_ratio": (0.9, 0.05, 0.05)}}, "games=4: none of them falls into the part 'val'"),
        ({"policy": "mlp(hiden=3)"}, "hiden"),
        ({"search": "sparta({blueprint}, rolouts=20)"}, "rolouts"),
        ({"blueprint": "hanabi/pires"}, "hanabi/piers"),
        ({"search": "sparta({blueprint}, joint=True)", "turns": 2}, "needs a rule bot"),
    ):
        with pytest.raises(LudoryError, match=message):
            start_flywheel(FlywheelConfig(**TINY | change), tmp_path)
    assert not list(tmp_path.iterdir()), "found out before anything is written"
    recording = tmp_path.parent / f"{tmp_path.name}-recording"
    record("hanabi/piers", TINY["env"], 1, recording)
    with pytest.raises(OutputError, match="holds a recording"):
        start_flywheel(FlywheelConfig(**TINY), recording)
    with pytest.raises(DataError, match=r"there is no flywheel\.json here"):
        Flywheel.resume(tmp_path)
    with start_flywheel(FlywheelConfig(**TINY), tmp_path), pytest.raises(OutputError, match="runs this flywheel"):
        Flywheel.resume(tmp_path)
    with pytest.raises(OutputError, match="holds a flywheel"):
        start_flywheel(FlywheelConfig(**TINY), tmp_path)
    (tmp_path / STATE).write_text("{")
    with pytest.raises(DataError, match="damaged"):
        FlywheelState.read(tmp_path)


def test_a_flywheel_that_is_over_can_be_given_more_turns(tmp_path: Path) -> None:
    with start_flywheel(FlywheelConfig(**TINY), tmp_path) as flywheel:
        assert flywheel.run()
    assert FlywheelState.read(tmp_path).finished
    with pytest.raises(OptionError, match="turns=0: 1 are over"):
        Flywheel.resume(tmp_path, turns=0)
    with Flywheel.resume(tmp_path, turns=2) as flywheel:
        assert flywheel.run(once=True)
    assert (FlywheelState.read(tmp_path).step, FlywheelState.read(tmp_path).turn) == ("distil", 1)


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flywheel", "run", *COMMAND, f"--out={tmp_path / 'new'}", "--dry-run"]) == 0
    assert "turn 1 of 1, search: 25 games of sparta(hanabi/piers, rollouts=2000)" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


def test_as_a_learner_it_is_the_same_flywheel(tmp_path: Path) -> None:
    options = {name: value for name, value in TINY.items() if name not in ("env", "policy", "turns")}
    model = ludory.make_algorithm(
        "flywheel", env=TINY["env"], policy=TINY["policy"], folder=tmp_path / "one", **options
    )
    model.learn(1, callback=lambda known, _: FlywheelState.read(tmp_path / "one").step != "evaluate")
    assert model.num_timesteps == 0, "stopped inside its first turn"
    again = ludory.load(tmp_path / "one").learn(1, reset_num_timesteps=False)
    assert again.num_timesteps == 1
    with start_flywheel(FlywheelConfig(**TINY), tmp_path / "two") as flywheel:
        assert flywheel.run()
    assert FlywheelState.read(tmp_path / "one").history == FlywheelState.read(tmp_path / "two").history
    other = ludory.load(tmp_path / "two")
    assert (type(other), other.num_timesteps) == (type(again), 1)
    with pytest.raises(OptionError, match="needs blueprint="):
        ludory.make_algorithm("flywheel", env=TINY["env"])
