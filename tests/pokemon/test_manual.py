"""The manual page of Pokémon battles: its Python runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ludory.cli.pokemon.command import JOBS
from ludory.data.pokemon.conversion import Conversion, ConvertedBattle, converted
from ludory.data.pokemon.trajectories import write_trajectories
from ludory.envs.pokemon.backends.install import Installation
from ludory.plugins import agents, benchmarks, games, networks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "games" / "pokemon.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PLAYS = [code for code in BLOCKS if "gym.make" in code]
READS = [code for code in BLOCKS if code not in PLAYS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the file that the examples read."""
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    source = ROOT / "tests" / "golden" / "pokemon" / "sim_dev.jsonl.gz"
    found = converted([source], Conversion(labels="log", format="gen1randombattle"))
    sides = [side for one in found if isinstance(one, ConvertedBattle) for side in one.trajectories]
    write_trajectories("battles.jsonl.gz", sides[:6])
    return tmp_path


@pytest.mark.parametrize("code", READS, ids=lambda code: code.splitlines()[0])
def test_what_needs_no_node_runs(code: str, folder: Path) -> None:
    exec(compile(code.replace("num_workers=4", "num_workers=0"), "pokemon.md", "exec"), {})


@pytest.mark.parametrize("code", PLAYS, ids=["views"])
def test_what_plays_runs(code: str, simulator: Installation) -> None:
    exec(compile(code, "pokemon.md", "exec"), {})


def test_there_are_examples_of_both_kinds() -> None:
    assert (len(READS), len(PLAYS)) == (3, 1)


def test_what_the_page_names_exists() -> None:
    """Ids, networks, jobs, benchmarks and tests."""
    for id in set(re.findall(r"Pokemon\w*-v0", PAGE)):
        assert games.get(id)
    for id in set(re.findall(r"`(pokemon/[a-z-]+)[(`]", PAGE)) - {"pokemon/mcts"}:
        assert id in (*agents.ids(), *networks.ids()), id
    assert set(re.findall(r"ludory pokemon (\w+)", PAGE)) <= set(JOBS)
    assert set(re.findall(r"ludory bench ([\w-]+)", PAGE)) <= set(benchmarks.ids())
    for file in re.findall(r"`(tests/[\w/.]+)`", PAGE):
        assert (ROOT / file).exists(), file
