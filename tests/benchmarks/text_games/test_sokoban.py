"""`ludory bench sokoban` and `sokoban-ppo`, as short as they can be."""

from __future__ import annotations

import json

import pytest

from ludory.cli import main


@pytest.mark.slow
def test_rates_and_stored_figures_are_written(tmp_path, capsys):
    command = ["bench", "sokoban", "--seconds", "0.01", "--repeats", "1", "--games", "8", "--out", str(tmp_path)]
    assert main(command) == 0
    report = json.loads((tmp_path / "sokoban.json").read_text())
    assert all(found["median"] > 0 for found in report["per_cpu_second"].values())
    assert report["per_cpu_second"]["rules"]["bar"] == 50_000_000
    assert all(found["problem"] == "no --peer-python" for found in report["peers"].values())
    assert "stored" in capsys.readouterr().out


@pytest.mark.slow
def test_ppo_is_scored_beside_random_moves_and_the_solver(tmp_path, capsys):
    command = ["bench", "sokoban-ppo", "--timesteps", "2000", "--games", "20", "--out", str(tmp_path)]
    assert main(command) == 0
    report = json.loads((tmp_path / "sokoban-ppo.json").read_text())
    assert report["unseen"]["optimum"]["success"] == [1.0, 0.0]
    assert 0 < report["unseen"]["random"]["success"][0] < 1
    assert set(report["seen"]) == {"ppo"}
    assert (tmp_path / "Sokoban-v0.ludory").exists()
    assert "not reached" in capsys.readouterr().out
