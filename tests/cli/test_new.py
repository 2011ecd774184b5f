"""`ludory new` writes packages whose own tests pass at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludory.cli import main
from ludory.cli.new.command import SCAFFOLDS

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCAFFOLDS)
def test_the_test_of_a_new_package_passes(kind: str, tmp_path: Path) -> None:
    assert main(["new", kind, "Twenty-One", "--into", str(tmp_path)]) == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}  # networks this small are slower on two threads
    done = subprocess.run(command, cwd=tmp_path / "ludory-twenty-one", capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", SCAFFOLDS)
def test_a_new_package_keeps_the_house_s_style(kind: str, tmp_path: Path) -> None:
    main(["new", kind, "Race", "--into", str(tmp_path)])
    rules = ["--select", "B,E,F,I,PIE,RUF,SIM,UP,W", "--line-length", "120", "--target-version", "py310"]
    for command in (["check", *rules], ["format", "--check", "--line-length", "120"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=tmp_path / "ludory-race", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_new_packages_are_known_once_they_are_installed(tmp_path: Path) -> None:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(tmp_path / "site"),
    ]
    for kind in SCAFFOLDS:
        main(["new", kind, f"my-{kind}", "--into", str(tmp_path)])
        pip.append(str(tmp_path / f"ludory-my-{kind}"))
    subprocess.run(pip, check=True)
    code = """
from ludory import plugins
for found in (plugins.games.load("my-game"), plugins.agents.load("my-agent"), plugins.algorithms.load("my-algorithm")):
    print(found.__module__, found.__name__)
"""
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [
        "ludory_my_game make_game",
        "ludory_my_agent make",
        "ludory_my_algorithm MyAlgorithm",
    ]


def test_nothing_is_overwritten(tmp_path: Path, capsys: Capture) -> None:
    kept = tmp_path / "ludory-race" / "pyproject.toml"
    kept.parent.mkdir()
    kept.write_text("mine")
    assert main(["new", "game", "Race", "--into", str(tmp_path)]) == 2
    assert "is there already; nothing was written" in capsys.readouterr().err
    assert [file.name for file in kept.parent.iterdir()] == ["pyproject.toml"]
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "3d", "two words", "a/b", "Race-v0", "x--y", "naïve"])
def test_a_name_that_can_not_be_an_id_is_refused(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["new", "game", name, "--into", str(tmp_path)]) == 2
    assert "must be letters, digits and single dashes" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_can_not_be_written_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    assert main(["new", "agent", "Race", "--into", str(blocked)]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_it_says_what_to_type_next(tmp_path: Path, capsys: Capture) -> None:
    main(["new", "agent", "Race", "--into", str(tmp_path)])
    said = capsys.readouterr().out
    assert f"cd {tmp_path / 'ludory-race'}" in said
    assert "ludory list agents" in said
