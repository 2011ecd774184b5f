"""`ludory bench text-env` measures what it says."""

from __future__ import annotations

import json

import pytest

from ludory.benchmarks.text_games import text_env as benchmark
from ludory.cli import main
from ludory.envs import TextEnv

FIRST = dict(list(benchmark.TASKS.items())[:1])


@pytest.mark.parametrize("task", ["Sokoban, world model", "Sokoban, compact"])
def test_a_tenth_of_the_replies_is_broken_and_the_others_are_in_order(task):
    id, given = benchmark.TASKS[task]
    replies = benchmark.canned(TextEnv(id, **given), 500)
    env = TextEnv(id, 500, seed=1, **given)
    env.reset()
    env.step(replies)
    forms = [records[0].verdict.form for records in env.records]
    assert set(forms) == {"ok", "no_answer"}
    assert 0.04 < forms.count("no_answer") / 500 < 0.16
    assert all(len(records[0].verdict.actions) in (0, 2) for records in env.records)


def test_rates_are_written_and_shown(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(benchmark, "TASKS", FIRST)
    options = ["--seconds", "0.05", "--repeats", "1", "--episodes", "8", "--out", str(tmp_path)]
    assert main(["bench", "text-env", *options]) == 0
    report = json.loads((tmp_path / "text-env.json").read_text())
    (rate,) = report["turns_per_cpu_second"].values()
    assert rate["median"] > 100
    assert rate["bar"] == 20_000
    assert "20,000" in capsys.readouterr().out
