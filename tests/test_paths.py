"""Names in files lead into the files' own folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludory.algorithms.flywheel.config import FlywheelConfig
from ludory.algorithms.flywheel.state import STATE, FlywheelState
from ludory.algorithms.texas42.oracle.catalogue import FILE, FORMAT, list_cards
from ludory.errors import CheckpointError, DataError
from ludory.paths import path_inside

CARD = {"sha256": "", "loss_mode": "", "policy": {}, "parameters": 0, "trained_on": 0, "scores": {}, "data": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "foreign").write_bytes(b"x")
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "foreign")
    (tmp_path / "mine" / "loop").symlink_to(tmp_path / "mine" / "loop")
    (tmp_path / "alias").symlink_to(tmp_path / "mine")
    return tmp_path / "mine"


def outside(folder: Path) -> tuple[object, ...]:
    return "../foreign", "a/../../foreign", str(folder.parent / "foreign"), "link", "loop/x", "", "a\0b", 7, None


def test_names_that_lead_outside_are_refused(folder: Path) -> None:
    for name in outside(folder):
        with pytest.raises(DataError, match=r"list\.json: names the file .* must be a file inside"):
            path_inside(folder, name, "list.json")


def test_names_inside_are_taken_also_through_a_link_to_the_folder(folder: Path) -> None:
    for place in (folder, folder.parent / "alias"):
        assert path_inside(place, "a/b.ludory", "list.json") == place / "a" / "b.ludory"


def test_a_catalogue_names_files_of_its_folder(folder: Path) -> None:
    for name in outside(folder):
        (folder / FILE).write_text(json.dumps({"format": FORMAT, "networks": [{"file": name, **CARD}]}))
        with pytest.raises(CheckpointError, match="must be a file inside"):
            list_cards(folder)


def test_a_flywheel_names_files_of_its_folder(folder: Path) -> None:
    FlywheelState(FlywheelConfig(env="HanabiTiny2P-v0", blueprint="hanabi/smartbot"), "blueprint.ludory").write(folder)
    assert FlywheelState.read(folder).blueprint == "blueprint.ludory"
    content = json.loads((folder / STATE).read_text())
    (folder / STATE).write_text(json.dumps({**content, "blueprint": "../foreign.ludory"}))
    with pytest.raises(DataError, match="must be a file inside"):
        FlywheelState.read(folder)
