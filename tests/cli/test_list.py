"""`ludory list` shows everything, quickly, and imports no plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from ludory.cli import main
from ludory.plugins import LISTED, builtin, jobs, makers

Capture = pytest.CaptureFixture[str]


def test_every_builtin_id_is_shown_with_its_package(capsys: Capture) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    tables = (
        builtin.GAMES,
        builtin.AGENTS,
        builtin.NETWORKS,
        builtin.ALGORITHMS,
        builtin.BENCHMARKS,
        builtin.COMMANDS,
        builtin.PAGES,
        builtin.VIEWERS,
    )
    for entry in chain(*tables):
        (line,) = (line for line in lines if line.split()[:1] == [entry.id] and entry.summary in line)
        assert line.endswith("ludory")


def test_nothing_that_ludory_itself_offers_is_broken(capsys: Capture) -> None:
    main(["list"])
    assert "broken" not in capsys.readouterr().out
    assert not any(registry.missing for registry in (*LISTED.values(), jobs, makers))


def test_networks_are_shown_with_their_arguments(capsys: Capture) -> None:
    main(["list", "networks"])
    assert "hidden=(256,), memory_size=256, activation='relu'\n" in capsys.readouterr().out
    main(["list", "networks", "--json"])
    (residual,) = (one for one in json.loads(capsys.readouterr().out)["networks"] if one["id"] == "residual")
    assert residual["arguments"] == "width=256, num_blocks=2, activation='relu'"


def test_json_is_for_programs(capsys: Capture) -> None:
    assert main(["list", "games", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {"games", "broken"}
    assert [game["id"] for game in answer["games"]] == [entry.id for entry in builtin.GAMES]
    tiny = next(game for game in answer["games"] if game["id"] == "HanabiTiny2P-v0")
    assert tiny["fixed"]["ranks"] == 2


def test_it_reads_few_modules_and_no_library() -> None:
    code = """
import sys
before = set(sys.modules)
from ludory.cli import main
main(["list"])
heavy = {"torch", "numba", "numpy", "gymnasium", "pettingzoo", "rich"} & set(sys.modules)
print(len(set(sys.modules) - before), *heavy, file=sys.stderr)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, *heavy = run.stderr.split()
    assert not heavy
    assert int(modules) < 250


@pytest.fixture
def plugins_folder(tmp_path: Path) -> Path:
    """A folder with three packages: one that works, one whose module is missing, one whose metadata are torn."""
    points = {"sound": "good = sound:make", "ghost": "gone = no_such_module:make", "torn": "no equals sign"}
    for name, point in points.items():
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: the {name} one\n")
        (info / "entry_points.txt").write_text(f"[ludory.agents]\n{point}\n")
    (tmp_path / "sound.py").write_text("raise SystemExit('imported')")
    return tmp_path


def listing(folder: Path, **environment: str) -> str:
    """What a new process lists with `folder` on the path."""
    env = {**os.environ, "PYTHONPATH": str(folder), **environment}
    command = [sys.executable, "-m", "ludory", "list", "agents"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def test_plugins_are_shown_and_broken_ones_flagged(plugins_folder: Path) -> None:
    shown = listing(plugins_folder)
    assert "the sound one" in shown
    assert "broken: the module no_such_module does not exist" in shown
    assert "broken: torn: " in shown


def test_plugins_off_shows_ludory_only(plugins_folder: Path) -> None:
    shown = listing(plugins_folder, LUDORY_PLUGINS="off")
    assert "sound" not in shown
    assert "torn" not in shown
    assert "random" in shown
