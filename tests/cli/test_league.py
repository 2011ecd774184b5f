"""`ludory league` and `ludory train pipeline`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.leagues import GAME, small_config, teacher_file

import ludory
from ludory.algorithms.league.run import start_league
from ludory.benchmarks.faults import outcomes
from ludory.cli import main
from ludory.cluster import InProcess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli")


LEARNING = ["--", "--num-envs", "16", "--n-steps", "8", "--batch-columns", "16"]
PLAYED = ["--unit", "700", "--slice-steps", "400", "--games-per-match", "4", "--evaluation-games", "4", "--seed", "3"]


@pytest.fixture(scope="module")
def league(folder: Path) -> Path:
    out = folder / "league"
    command = ["train", "league", "--env", GAME, "--teacher", str(teacher_file(folder)), "--timesteps", "3e3", *PLAYED]
    assert main([*command, "--anchors", "arena/rusher", "arena/turtle", "--out", str(out), *LEARNING]) == 0
    return out


def test_the_old_spelling_and_the_functions_make_the_same_league(
    folder: Path, league: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["league", "run", "--env", GAME, "--teacher", str(teacher_file(folder)), "--budget", "3e3", *PLAYED]
    command += ["--weighting", "priority", "--shares", "0.5,0.35,0.15", "--anchors", "arena/rusher,arena/turtle"]
    assert main([*command, "--out", str(folder / "old"), *LEARNING]) == 0
    assert "ludory: `ludory league run` is now `ludory train league " in capsys.readouterr().err
    config = small_config(folder, budget_steps=3000, anchors=("arena/rusher", "arena/turtle"), roles=(1, 1, 2), seed=3)
    with start_league(config, folder / "made") as made:
        assert made.run()
    assert outcomes.league(league) == outcomes.league(folder / "old") == outcomes.league(folder / "made")


def test_learners_at_workers_that_take_turns_make_the_same_league(folder: Path, league: Path) -> None:
    config = small_config(folder)
    names = ("teacher", "unit", "slice_steps", "games_per_match", "evaluation_games", "learner_options")
    options = {name: getattr(config, name) for name in names}
    anchors = ("arena/rusher", "arena/turtle")
    model: Any = ludory.make_algorithm("league", GAME, folder=folder / "elsewhere", anchors=anchors, seed=3, **options)
    model.in_order = True
    model.sample_at(InProcess(), 1).learn(3000)
    assert outcomes.league(folder / "elsewhere") == outcomes.league(league)


def test_a_small_budget_is_what_is_trained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The learner's own rollouts have 512 games x 64 decisions."""
    teacher = tmp_path / "teacher.ludory"
    ludory.make_algorithm("ppo", env="TicTacToe-v0", policy="mlp(hidden=(8,))", num_envs=2).save_policy(teacher)
    command = ["train", "league", "--env", "TicTacToe-v0", "--learner", "ppo", "--teacher", str(teacher), "--timesteps"]
    command += ["4000", "--evaluation-games", "2", "--games-per-match", "4", "--out", str(tmp_path / "league")]
    assert main(command) == 0
    assert "because the league is short: unit=2000, slice_steps=250" in capsys.readouterr().out
    assert 4000 <= json.loads(_status(tmp_path / "league", capsys))["done"] < 4500, "in whole turns"


def test_minutes_are_a_budget_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "timed"
    command = ["train", "league", "--env", GAME, "--teacher", str(teacher_file(folder)), *PLAYED, "--out", str(out)]
    assert main([*command, "--minutes", "0.02", "--eval-games", "0", *LEARNING]) == 0
    found = json.loads(_status(out, capsys))
    assert found["closed"]
    assert (found["unit"], found["budget"]) == ("minutes", 0.02)
    done = found["done"]
    assert main(["train", "league", "--out", str(out), "--resume", "--eval-games", "0"]) == 0
    assert json.loads(_status(out, capsys))["done"] == done, "nothing is left of them"
    assert main(["league", "resume", str(out), "--budget", f"{done + 0.06}m"]) == 0  # what is done is rounded to 0.1
    assert _steps(json.loads(_status(out, capsys))) > _steps(found)


def test_status_tells_how_far_it_is(league: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["league", "status", str(league)]) == 0
    text = capsys.readouterr().out
    assert f"{GAME}: 3," in text
    assert "closed" in text
    assert "main0@1" in text
    assert main(["league", "status", str(league), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["closed"]
    assert found["budget"] == 3000
    assert {player["id"] for player in found["players"]} >= {"main0", "arena/rusher", "main0@0"}


def test_a_finished_league_goes_on_with_a_larger_budget(league: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = ["train", "league", "--out", str(league), "--resume", "--eval-games", "0"]
    assert main(again) == 0
    before = json.loads(_status(league, capsys))["done"]
    assert main([*again, "--timesteps", "4500"]) == 0
    after = json.loads(_status(league, capsys))
    assert before < 4500 <= after["done"]
    assert after["budget"] == 4500
    assert after["closed"]


def _steps(found: dict[str, Any]) -> int:
    return sum(player["env_steps"] for player in found["players"] if not player["frozen"])


def _status(league: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(["league", "status", str(league), "--json"])
    return capsys.readouterr().out


def test_exploiters_and_the_report(league: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["league", "exploit", str(league), "--steps", "300", "--seeds", "1", "--games", "8"]
    assert main([*command, "--start", "random"]) == 0
    assert main([*command, "--target", "nash"]) == 0
    assert "largest" in capsys.readouterr().out
    assert main([*command, "--target", "nash"]) == 0  # kept, not trained again
    assert main(["league", "report", str(league)]) == 0
    report = json.loads((league / "report" / "report.json").read_text())
    assert report["schema"] == "ludory-league-report/1"
    assert "exploiters" in (league / "report" / "report.html").read_text().lower()
    kept = json.loads((league / "exploiters.json").read_text())
    assert [(one["target"], one["start"]) for one in kept] == [("main", "random"), ("nash", "target")]


def test_bad_input_says_what_to_type(folder: Path, league: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*argv: str) -> str:
        assert main(list(argv)) == 2
        return capsys.readouterr().err

    assert "must be one of status, report, exploit" in said("league", "start")
    assert "--seeds 0: must be at least 1" in said("league", "exploit", str(league), "--seeds", "0")
    assert "--games 0: must be at least 2" in said("league", "exploit", str(league), "--games", "0")
    base = ["train", "league", "--env", GAME, "--teacher", str(teacher_file(folder)), "--out", str(folder / "new")]
    assert "--roles 1 1: must be 3 values, such as 1,1,2" in said(*base, "--timesteps", "1e4", "--roles", "1,1")
    assert "add --resume to go on with it" in said(*base[:-1], str(league), "--timesteps", "1e4")
    assert "`ludory train league --out" in said("league", "status", str(folder / "nothing"))
    assert "no such file" in said(*base[:5], str(folder / "no.ludory"), *base[6:], "--timesteps", "1e4")
    assert "must be a whole number" in said("league", "run", *base[2:], "--budget", "soon")


def test_the_pipeline_goes_from_demonstrations_to_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "pipeline"
    command = ["train", "pipeline", "--env", GAME, "--out", str(out), "--demonstrators", "arena/rusher,arena/zone"]
    command += [
        "--games",
        "30",
        "--epochs",
        "1",
        "--policy",
        "mlp(hidden=(16,))",
        "--finetune",
        "1000",
        "--league",
        "1e3",
    ]
    assert main(command) == 0
    for made in (
        "data/dataset.json",
        "pi_sup.ludory",
        "tuned.ludory",
        "league/events.jsonl",
        "league/report/report.html",
    ):
        assert (out / made).exists(), made
    capsys.readouterr()
    before = (out / "league" / "events.jsonl").stat().st_size
    assert main(command) == 0, "a second time there is nothing left to do"
    assert "pipeline done" in capsys.readouterr().out
    assert (out / "league" / "events.jsonl").stat().st_size - before < 1000
