"""`ludory bench cores` measures engines and training with one thread and with two."""

from __future__ import annotations

import json

import pytest

from ludory.cli import main

pytestmark = pytest.mark.slow

TINY = [
    "--game",
    "HanabiTiny2P-v0",
    "--sizes",
    "8",
    "--networks",
    "mlp(hidden=(8,))",
    "--seconds",
    "0.02",
    "--repeats",
    "1",
]


def test_rates_and_ratios_are_written_and_shown(tmp_path, capsys):
    assert main(["bench", "cores", *TINY, "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "cores.json").read_text())
    for found in (report["engine"]["8 games"], report["training"]["mlp(hidden=(8,))"]):
        (one,), (two,) = found["rounds"]["1"], found["rounds"]["2"]
        assert found["ratio"] == two / one
        assert one > 0
    assert report["processes"] > 0
    assert "together" in capsys.readouterr().out
