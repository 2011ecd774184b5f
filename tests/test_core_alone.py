"""The core lives without its systems: a copy of the tree without them plays, learns, shows and says what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from core_alone import copy_core

ROOT = Path(__file__).parents[1]
MANY = 1000
"""Tests of the core that must at least have run."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, counts: ModuleType) -> Run:
    """Runs Python in a copy of the tree without systems."""
    copy = tmp_path_factory.mktemp("alone") / "core"
    gone = copy_core(ROOT, copy, counts)
    assert {"envs/hanabi", "algorithms/league", "benchmarks", "agents/search/sparta.py"} <= set(gone)
    path = os.pathsep.join([str(copy / "src"), str(copy / "tests")])

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )

    return python


def ludory(run: Run, *arguments: str) -> str:
    done = run("-m", "ludory", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_tests_of_the_core_pass_without_any_system(run: Run) -> None:
    options = (
        "tests",
        "-q",
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "-p",
        "core_alone",
        "-m",
        "not slow",
    )
    done = run("-m", "pytest", *options)
    assert done.returncode == 0, done.stdout[-10_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= MANY
    print(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_what_is_left_is_listed_and_the_doctor_names_the_rest(run: Run) -> None:
    listed = ludory(run, "list", "games")
    assert "TicTacToe-v0" in listed
    assert "Hanabi" not in listed
    assert "broken" not in ludory(run, "list")
    assert "league" not in ludory(run, "--help")
    told = ludory(run, "doctor")
    assert "nothing is broken" in told
    assert re.search(r"systems +not part of this installation: .*arena.*hanabi.*league.*texas42", told)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "what", "system"),
    [
        ("ludory.make_game('Hanabi2P-v0')", "game 'Hanabi2P-v0'", "hanabi"),
        ("gymnasium.make('Hanabi2P-v0')", "game 'Hanabi2P-v0'", "hanabi"),
        ("pettingzoo.make('aec', 'ludory/arena2p-v0')", "game 'Arena2P-v0'", "arena"),
        ("ludory.make_agent('hanabi/iggi', 'TicTacToe-v0')", "agent 'hanabi/iggi'", "hanabi"),
        ("ludory.make_agent('hanabi/ppo', 'TicTacToe-v0')", "agent 'hanabi/ppo'", "hanabi"),
        ("ludory.make_algorithm('league', 'TicTacToe-v0')", "algorithm 'league'", "league"),
        ("ludory.cli.main(['league', 'run'])", "algorithm 'league'", "league"),
        ("ludory.cli.main(['league', 'report'])", "command 'league'", "league"),
        ("ludory.cli.main(['check', 'rooms'])", "job 'check/rooms'", "sokoban"),
    ],
)
def test_what_is_of_a_missing_system_says_what_to_type(run: Run, call: str, what: str, system: str) -> None:
    told = run("-c", f"import gymnasium, pettingzoo, ludory; {call}").stderr.splitlines()[-1]
    assert f"{what} is of the system {system}, which is not part of this installation; type: pip install" in told
