"""`ludory bench start-up` measures first steps, and engines beside another Ludory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ludory
from ludory.cli import main

SOURCE = str(Path(ludory.__file__).parents[1])
SMALL = ["--games", "KuhnPoker-v0,TicTacToe-v0", "--repeats", "1"]


@pytest.mark.slow
def test_first_steps_and_speeds_are_measured_beside_another_ludory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = ["--engines", "TicTacToe-v0:8", "--seconds", "0.01", "--beside", SOURCE]
    assert main(["bench", "start-up", *SMALL, *engines, "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "start-up.json").read_text())
    whens = [f"{batch}, {when}" for batch in ("few games", "compiled") for when in ("cold", "warm")]
    steps = [f"{game}, {when}" for when in whens for game in ("KuhnPoker-v0", "TicTacToe-v0")]
    assert list(report["this"]) == list(report["beside"]) == ["import ludory", "ludory list", *steps]
    compiled = {when: report["this"][f"KuhnPoker-v0, compiled, {when}"]["median"] for when in ("cold", "warm")}
    assert compiled["cold"] > compiled["warm"]
    assert set(report["engines"]["TicTacToe-v0:8"]["ratio"]) == {"step", "observe", "reset"}
    assert report["beside_commit"] == report["commit"], "it stands beside itself"
    assert "times as fast" in capsys.readouterr().out


def test_a_folder_without_ludory_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "start-up", *SMALL, "--beside", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert "give the folder src of a checkout" in capsys.readouterr().err
