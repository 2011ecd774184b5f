"""`ludory bench texas42-speed` measures what it says."""

from __future__ import annotations

import json
import time

import pytest

from ludory.benchmarks.harness.timing import processor_rates
from ludory.benchmarks.texas42 import speed as texas42_speed
from ludory.cli import main


@pytest.mark.slow
def test_every_work_does_as_much_as_it_says(monkeypatch):
    monkeypatch.setattr(texas42_speed, "LENGTH", 3)
    wanted = {
        "engine, observations and masks": 3 * texas42_speed.GAMES,
        "exact value of a deal": texas42_speed.DEALS,
        "whether a deal makes 30": texas42_speed.DEALS,
        "worlds drawn uniformly": texas42_speed.WORLDS,
        "texas42/quick, a choice": 28 * texas42_speed.GAMES,
        "E[Q] of a hand, 50 worlds": 1,
        "all states of a deal (tabulator)": 1,
    }
    done = {name: work.start()() for name, work in texas42_speed.WORKS.items()}
    assert {name: done[name] for name in wanted} == wanted
    assert 10 < done["texas42/pimc(worlds=10), a choice"] < 28
    assert 20 * texas42_speed.DEALS < done["all tiles at a decision of a hand"] <= 28 * texas42_speed.DEALS


def test_rates_are_of_processor_time():
    def sleep():
        time.sleep(0.05)
        return 1

    (rate,) = processor_rates(sleep, 0.1, 1)
    assert rate > 100, "20 a second by the clock on the wall"


def test_wrong_numbers_are_refused(tmp_path, capsys):
    for option in ("--repeats", "--seconds"):
        assert main(["bench", "texas42-speed", option, "0", "--out", str(tmp_path)]) == 2
        assert f"{option}" in capsys.readouterr().err


def test_the_report_is_told_and_kept(monkeypatch, tmp_path, capsys):
    name = "exact value of a deal"
    monkeypatch.setattr(texas42_speed, "WORKS", {name: texas42_speed.WORKS[name]})
    assert main(["bench", "texas42-speed", "--seconds", "0.01", "--repeats", "3", "--out", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "texas42-speed.json").read_text())
    one = report["rates"][name]
    assert sorted(one["rounds"])[1] == one["median"]
    assert f"{1000 / one['median']:.2f} ms" in capsys.readouterr().out
