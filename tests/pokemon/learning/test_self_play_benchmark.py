"""`ludory bench pokemon-ppo` in little: a run that goes on for longer than it was planned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludory.benchmarks.pokemon import self_play
from ludory.cli import main
from ludory.envs.pokemon.backends.install import Installation

NAME = "PokemonGen1RandomBattle-v0-seed1"
SMALL = (
    "--clone-games",
    "0",
    "--every",
    "64",
    "--battles",
    "4",
    "--final-battles",
    "4",
    "--workers",
    "0",
)


@pytest.fixture
def small(simulator: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        self_play, "SETTINGS", self_play.SETTINGS | {"num_envs": 4, "n_steps": 8, "batch_size": 16, "n_epochs": 1}
    )


@pytest.mark.slow
def test_a_run_may_be_told_another_length_and_says_so(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "pokemon-ppo", *SMALL, "--out", str(tmp_path)]
    assert main([*command, "--decisions", "100"]) == 0
    assert main([*command, "--decisions", "200"]) == 0
    report = json.loads((tmp_path / f"pokemon-ppo-{NAME}.json").read_text(encoding="utf-8"))
    first, second = report["plans"]
    assert (first, second["planned"]) == ({"planned": 100, "after": 0}, 200)
    assert 100 <= second["after"] < 200 <= report["decisions_made"]
    assert report["decisions_made"] < 300
    steps = [point["decisions"] for point in report["curve"]]
    assert steps == sorted(set(steps))
    assert main([*command, "--battles", "6"]) != 0
    assert "name another folder with --out" in capsys.readouterr().err


def test_an_unknown_player_is_refused_before_anything_is_made(
    simulator: Installation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "pokemon-ppo", "--others", "pokemon/simple-heuristic", "--out", str(tmp_path / "none")]) == 2
    assert "did you mean 'pokemon/simple-heuristics'" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
