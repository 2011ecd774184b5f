"""`ludory bench replies` measures both backends."""

from __future__ import annotations

import json

from ludory.benchmarks.text_games import replies as benchmark
from ludory.cli import main


def test_rates_are_written_and_shown(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(benchmark, "TASKS", dict(list(benchmark.TASKS.items())[1:2]))
    options = ["--seconds", "0.05", "--repeats", "1", "--episodes", "8", "--tokens", "3", "--out", str(tmp_path)]
    assert main(["bench", "replies", *options]) == 0
    report = json.loads((tmp_path / "replies.json").read_text())
    (rates,) = report["tokens_per_cpu_second"].values()
    assert set(rates) == {"hf", "static"}
    assert all(rate["median"] > 10 for rate in rates.values())
    assert "groups of 8" in capsys.readouterr().out
