"""`ludory bench sokoban`, as short as it can be."""

from __future__ import annotations

import json

from ludory.cli import main


def test_rates_and_stored_figures_are_written(tmp_path, capsys):
    command = ["bench", "sokoban", "--seconds", "0.01", "--repeats", "1", "--games", "8", "--out", str(tmp_path)]
    assert main(command) == 0
    report = json.loads((tmp_path / "sokoban.json").read_text())
    assert all(found["median"] > 0 for found in report["per_cpu_second"].values())
    assert report["per_cpu_second"]["rules"]["bar"] == 50_000_000
    assert all(found["problem"] == "no --peer-python" for found in report["peers"].values())
    assert "stored" in capsys.readouterr().out
