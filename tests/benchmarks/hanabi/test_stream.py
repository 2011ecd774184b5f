"""`ludory bench hanabi-stream` on a small Hanabi."""

from __future__ import annotations

import json

import pytest

from ludory.benchmarks.hanabi.stream import run

pytestmark = pytest.mark.slow


def test_a_second_call_trains_nothing_more(tmp_path) -> None:
    command = ["--game", "HanabiTiny2P-v0", "--bot", "hanabi/iggi", "--policy", "mlp(hidden=(16,))", "--epochs", "2"]
    command += ["--decisions", "2048", "--seeds", "1", "--games", "20", "--out", str(tmp_path)]
    assert run(command) == 0
    file = tmp_path / "hanabi-stream-HanabiTiny2P-v0-conventions.json"
    report = json.loads(file.read_text())
    [clone] = report["clones"]
    assert clone["decisions"] >= 4096
    assert clone["cpu_seconds"] > 0
    assert clone["evaluation"]["games"] == 20
    assert run(command) == 0
    assert json.loads(file.read_text())["clones"] == report["clones"]
