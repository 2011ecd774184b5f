"""`ludory bench hanabi-distill` goes through both rounds, tells what it saw, and does nothing twice."""

from __future__ import annotations

import json

import pytest

import ludory
from ludory.benchmarks.hanabi.distill import DISTIL
from ludory.cli import main

pytestmark = pytest.mark.slow

COMMAND = ["bench", "hanabi-distill", "--game", "HanabiTiny2P-v0", "--clone-games", "40", "--clone-epochs", "1"]
SIZES = ["--games", "12", "--rollouts", "30", "--epochs", "1", "--second-games", "8", "--second-rollouts", "8"]
NETWORKS = ("clone", "sequences", "seed", "second")


def test_two_rounds_and_nothing_twice(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ludory.benchmarks.hanabi.distill.POLICY", "gru(hidden=(12,), memory_size=6)")
    monkeypatch.setitem(DISTIL, "split_ratio", (0.6, 0.4, 0.0))
    reports, written = [], []
    for _ in range(2):
        assert main([*COMMAND, *SIZES, "--eval-games", "40", "--out", str(tmp_path)]) == 0
        reports.append(json.loads((tmp_path / "hanabi-distill-seed1.json").read_text()))
        written.append([(tmp_path / f"{name}.ludory").stat().st_mtime_ns for name in NETWORKS])
    assert reports[0]["scores"] == reports[1]["scores"]
    assert written[0] == written[1]
    again = ludory.evaluate([str(tmp_path / "second.ludory")], game="HanabiTiny2P-v0", games=40, seed=3_000_017)
    assert reports[0]["scores"]["second round"]["mean"] == float(again.mean)
    scores = reports[0]["scores"]
    for one in reports[0]["differences"]:
        ahead = scores[one["agent"]]["mean"] - scores[one["beside"]]["mean"]
        assert abs(one["ahead"] - ahead) < 1e-9
    assert "second round - sequences" in capsys.readouterr().out
    monkeypatch.setitem(DISTIL, "learning_rate", 0.5)
    assert main([*COMMAND, *SIZES, "--eval-games", "40", "--out", str(tmp_path)]) == 2
    assert "learning_rate=0.001, asked for learning_rate=0.5; name another folder" in capsys.readouterr().err
    monkeypatch.setitem(DISTIL, "learning_rate", 1e-3)
    more = [*COMMAND, *SIZES, "--games", "14", "--eval-games", "40", "--out", str(tmp_path)]
    assert main(more) == 2
    assert "began on" in capsys.readouterr().err


def test_what_can_not_be_is_refused_before_anything_is_played(tmp_path, capsys):
    for wrong, words in (
        (["--games", "0"], "--games"),
        (["--bot", "hanabi/igi"], "hanabi/iggi"),
        (["--game", "Hanabi9P-v0"], "Hanabi"),
    ):
        assert main(["bench", "hanabi-distill", *wrong, "--out", str(tmp_path)]) == 2
        assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
