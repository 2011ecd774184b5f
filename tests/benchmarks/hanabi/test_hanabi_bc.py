"""`ludory bench hanabi-bc` records, trains, tells the truth, and does nothing twice."""

from __future__ import annotations

import json

import pytest

import ludory
from ludory.benchmarks.hanabi.bc import SETTINGS
from ludory.cli import main

pytestmark = pytest.mark.slow

COMMAND = ["bench", "hanabi-bc", "--game", "HanabiTiny2P-v0", "--games", "60", "--eval-games", "50"]


def test_a_second_call_finds_the_clone_and_gives_the_same_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ludory.benchmarks.hanabi.bc.POLICY", "gru(hidden=(16,), memory_size=8)")
    monkeypatch.setitem(SETTINGS, "num_epochs", 1)
    reports, written = [], []
    for _ in range(2):
        assert main([*COMMAND, "--out", str(tmp_path)]) == 0
        reports.append(json.loads((tmp_path / "hanabi-bc-HanabiTiny2P-v0-seed1.json").read_text()))
        written.append((tmp_path / "clone.ludory").stat().st_mtime_ns)
    for part in ("held_out", "evaluation", "settings"):
        assert reports[0][part] == reports[1][part]
    assert written[0] == written[1]
    evaluation = reports[0]["evaluation"]
    again = ludory.evaluate([str(tmp_path / "clone.ludory")], game="HanabiTiny2P-v0", games=50, seed=1_000_003)
    assert evaluation["agent"]["mean"] == float(again.mean)
    assert 0 < reports[0]["held_out"]["accuracy"] <= 1
    assert "result in" in capsys.readouterr().out
