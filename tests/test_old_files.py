"""Files of every format as they were written before the rooms were rearranged: each still loads, to the same content."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludory
from ludory.algorithms.flywheel.state import FlywheelState
from ludory.algorithms.league.exploitation import read_exploitations
from ludory.algorithms.league.player_files import open_league
from ludory.benchmarks.faults.formats import FORMATS, plain
from ludory.cli import main

OLD = Path(__file__).parent / "golden" / "old_files"
DIGESTS = OLD / "digests.json"
READERS: dict[str, tuple[str, str]] = {  # what -> format, folder
    "recorded": ("shard", "recorded"),
    "searched": ("search log", "searched"),
    "recorder": ("recorder", "recorder"),
    "league players": ("league player", "league"),
    "labels": ("texas42 labels", "labels"),
    "states": ("texas42 shard", "states"),
    "hands": ("texas42 hand", "hands"),
    "bids": ("texas42 bids", "bids"),
    "minari": ("minari", "minari"),
    "replay": ("replay", "."),
    "snapshot": ("engine snapshot", "."),
}
CHECKPOINTS = ("ppo", "vtrace", "sb3", "bc", "distill", "texas42")


def _weights(name: str) -> Any:
    model = ludory.load(OLD / f"{name}.ludory")
    return model.num_timesteps, [np.asarray(one.detach()) for one in model.policy.state_dict().values()]


def _league() -> Any:
    state = open_league(OLD / "league").state
    return [(one.id, one.role, one.frozen, one.env_steps, one.updates) for one in state.players]


def _exploiters() -> Any:
    return [(one.target, one.seed, one.env_steps, one.score) for one in read_exploitations(OLD / "league")]


def _wheel() -> Any:
    return [(one.policy, one.policy_score, one.promoted) for one in FlywheelState.read(OLD / "wheel").history]


def contents() -> dict[str, Callable[[], Any]]:
    """What is read, by name."""
    readers: dict[str, Callable[[], Any]] = {name: lambda name=name: _weights(name) for name in CHECKPOINTS}
    readers |= {"league": _league, "exploiters": _exploiters, "wheel": _wheel}
    for what, (format, folder) in READERS.items():
        readers[what] = lambda format=format, folder=folder: plain(FORMATS[format].read(OLD / folder))
    return readers


def digest(value: Any) -> str:
    return hashlib.sha256(repr(plain(value)).replace(str(OLD), "").encode()).hexdigest()[:16]


@pytest.mark.parametrize("what", contents())
def test_an_old_file_holds_what_it_held(what: str) -> None:
    if what == "minari":
        pytest.importorskip("minari")  # an extra, of Python 3.11 and newer
    assert digest(contents()[what]()) == json.loads(DIGESTS.read_text())[what]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "ppo" else pytest.mark.slow) for name in CHECKPOINTS]
)
def test_an_old_checkpoint_plays(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    agent = str(OLD / f"{name}.ludory")
    game = "Texas42Play-v0" if name == "texas42" else "HanabiTiny2P-v0"
    assert main(["eval", agent, "--game", game, "--games", "4", "--seed", "1"]) == 0


@pytest.mark.slow
def test_an_old_league_goes_on(tmp_path: Path) -> None:
    shutil.copytree(OLD / "league", tmp_path / "league")
    before = len((tmp_path / "league" / "events.jsonl").read_text().splitlines())
    assert main(["league", "resume", str(tmp_path / "league"), "--budget", "2000"]) == 0
    assert main(["league", "status", str(tmp_path / "league")]) == 0
    assert len((tmp_path / "league" / "events.jsonl").read_text().splitlines()) > before


def test_an_old_run_goes_on(tmp_path: Path) -> None:
    file = shutil.copy(OLD / "ppo.ludory", tmp_path)
    assert main(["train", "ppo", "--out", str(file), "--resume", "--timesteps", "96"]) == 0
    assert ludory.load(file).num_timesteps == 96


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({what: digest(read()) for what, read in contents().items()}, indent=1) + "\n")
