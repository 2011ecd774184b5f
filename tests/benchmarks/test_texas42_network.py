"""The benchmark of Texas 42 networks goes on where it stopped, and writes what it found."""

from __future__ import annotations

import json

import pytest

from ludory.algorithms.texas42.data.labels import play_and_label
from ludory.benchmarks.texas42 import network as texas42_network
from ludory.benchmarks.texas42.network import Recipe, run
from ludory.cli import main
from ludory.data.formats.texas42.labels import LabelSettings, LabelsName, write_labels

pytestmark = pytest.mark.slow

SETTINGS = LabelSettings(paths=1)


@pytest.fixture
def small(monkeypatch):
    """A recipe of seconds."""

    def label(folder, deals, processes):
        for first in (0, 900):
            name = LabelsName(first)
            if not (folder / name.path).exists():
                write_labels(folder / name.path, name, SETTINGS, play_and_label(range(first, first + deals), SETTINGS))

    policy, settings = (
        "domino(width=24, num_layers=1, num_heads=2, feedforward=24)",
        {"num_epochs": 1, "batch_size": 32},
    )
    monkeypatch.setitem(texas42_network.RECIPES, "minute", Recipe(8, policy, settings))
    monkeypatch.setattr(texas42_network, "_make_labels", label)


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
    assert main(["bench", "texas42-network", "minute", "--processes", "0"]) == 2
    assert "--processes 0: must be at least 1" in capsys.readouterr().err


def test_two_processes_share_the_labels_and_a_lost_file_is_made_again(tmp_path):
    texas42_network._make_labels(tmp_path, 51, 2)
    files = sorted(tmp_path.glob("*/labels_*.parquet"))
    assert [file.stem[-2:] for file in files] == ["00", "50"]
    before = [file.read_bytes() for file in files]
    files[1].unlink()
    texas42_network._make_labels(tmp_path, 51, 1)
    assert [file.read_bytes() for file in files] == before
