"""The benchmark of Texas 42 networks goes on where it stopped, and writes what it found."""

from __future__ import annotations

import json

import pytest

from ludory.benchmarks.texas42 import network as texas42_network
from ludory.benchmarks.texas42.network import Recipe, run
from ludory.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def small(monkeypatch):
    """A recipe of seconds."""
    settings = {"num_epochs": 1, "batch_size": 32, "fresh_states": 64, "fresh_deals": 3}
    monkeypatch.setitem(texas42_network.RECIPES, "minute", Recipe("domino_mlp(hidden=(8,))", settings, 5))


def test_a_second_call_finds_the_network_and_gives_the_same_figures(small, tmp_path, capsys):
    command, target = ["minute", "--out", str(tmp_path)], tmp_path / "texas42-network-minute.json"
    assert run([*command, "--minutes", "0"]) == 0
    assert "not finished, the same command goes on" in capsys.readouterr().out
    assert run(command) == 0
    first = json.loads(target.read_text())
    assert run(command) == 0
    second = json.loads(target.read_text())
    assert first["finished"]
    assert first["samples"] > 0
    assert first["validation"] == second["validation"]
    assert set(first["validation"]) == {"network", "random", "greedy"}
    assert "by tiles played" in capsys.readouterr().out


def test_wrong_arguments_are_told(capsys):
    assert main(["bench", "texas42-network", "day"]) == 2
    assert "RECIPE day: must be minute, hour or gpu" in capsys.readouterr().err
