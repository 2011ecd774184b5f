"""The README's code runs, its table is that of the committed results, and the files it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ludory.benchmarks.results_table import results_table, with_results
from ludory.plugins import agents, algorithms, games

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.splitlines()[0])
def test_python_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace("2_000_000", "70_000").replace("games=1000", "games=50"), "README", "exec"), {})


def test_gym_takes_eight_lines_and_learning_four():
    gym, learn = PYTHON[0].split("\n\n", 1)[1], PYTHON[1]
    assert len(gym.strip().splitlines()) <= 8
    assert len([line for line in learn.splitlines() if line.strip()]) == 4


def test_the_plugin_is_twenty_lines_and_learns():
    lines = [line for line in PYTHON[2].split("class ")[1].splitlines() if line.strip()]
    assert len(lines) <= 20
    names: dict[str, object] = {}
    exec(PYTHON[2], names)
    model = names["Reinforce"]("auto", "HanabiTiny2P-v0", num_envs=32, hidden=(16,))
    assert model.learn(1024).num_timesteps == 1024


def test_toml_is_valid():
    tomllib = pytest.importorskip("tomllib")
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert tomllib.loads(block)["project"]["entry-points"]["ludory.algorithms"]


def test_results_are_the_committed_ones():
    assert with_results(README, results_table(ROOT / "benchmarks" / "results")) == README


def test_every_file_and_id_that_it_names_exists():
    for file in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (ROOT / file).exists(), file
    for name in re.findall(r"`((?:Hanabi|Arena|Texas42)\w*-v0|(?:hanabi|arena)/\w+)`", README):
        assert (games if name.endswith("-v0") else agents).get(name)
    for name in re.findall(r"ludory train (\w+)", README):
        assert name in ("my", "pipeline") or algorithms.get(name)
