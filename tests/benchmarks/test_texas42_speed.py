"""`ludory bench texas42-speed` measures what it says."""

from __future__ import annotations

import json

import pytest

from ludory.benchmarks import texas42_speed
from ludory.benchmarks.timing import processor_rates
from ludory.cli import main


def test_every_work_does_as_much_as_it_says(monkeypatch):
    monkeypatch.setattr(texas42_speed, "LENGTH", 3)
    wanted = {
        "engine, observations and masks": 3 * texas42_speed.GAMES,
        "exact value of a deal": texas42_speed.DEALS,
        "whether a deal makes 30": texas42_speed.DEALS,
        "worlds drawn uniformly": texas42_speed.WORLDS,
        "texas42/quick, a choice": 28 * texas42_speed.GAMES,
        "E[Q] of a hand, 50 worlds": 1,
    }
    for name, amount in wanted.items():
        assert texas42_speed.WORKS[name].start()() == amount
    assert 10 < texas42_speed.WORKS["texas42/pimc(worlds=10), a choice"].start()() < 28


def test_rates_are_of_processor_time():
    def step():
        return sum(range(200_000)) > 0

    (slow,) = processor_rates(step, 0.05, 1)
    (double,) = processor_rates(lambda: 2 * step(), 0.05, 1)
    assert double == pytest.approx(2 * slow, rel=0.5)


def test_the_report_is_told_and_kept(monkeypatch, tmp_path, capsys):
    name = "exact value of a deal"
    monkeypatch.setattr(texas42_speed, "WORKS", {name: texas42_speed.WORKS[name]})
    assert main(["bench", "texas42-speed", "--seconds", "0.01", "--repeats", "3", "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "texas42-speed.json").read_text())
    one = report["rates"][name]
    assert sorted(one["rounds"])[1] == one["median"]
    assert f"{1000 / one['median']:.2f} ms" in capsys.readouterr().out
