"""`ludory sokoban bank` and `ludory check rooms`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludory.cli import main
from ludory.envs.sokoban.bank import read_bank

pytestmark = pytest.mark.plain

HARD = Path(__file__).parents[2] / "golden" / "text_games" / "boxoban" / "boxoban_hard.txt"


@pytest.mark.slow
def test_a_bank_is_written_once(tmp_path, capsys):
    out = tmp_path / "rooms.npz"
    command = ["sokoban", "bank", "--rooms", "50", "--split", "valid", "--out", str(out)]
    assert main(command) == 0
    assert "50 rooms" in capsys.readouterr().out
    assert len(read_bank(out).codes) == 50
    assert (read_bank(out).lengths > 0).all()
    assert main(command) == 2
    assert "exists" in capsys.readouterr().err


def test_level_files_become_a_bank(tmp_path):
    out = tmp_path / "hard.npz"
    assert main(["sokoban", "bank", "--levels", str(HARD), "--max-states", "0", "--out", str(out)]) == 0
    assert read_bank(out).codes.shape == (100, 10, 10)
    assert np.unique(read_bank(out).lengths).tolist() == [-1]


@pytest.mark.slow
def test_splits_have_no_room_in_common(capsys):
    assert main(["check", "rooms", "Sokoban-v0(split='train')", "Sokoban-v0(split='test')", "--rooms", "80"]) == 0
    assert "in both: 0 distinct rooms" in capsys.readouterr().out


def test_two_sets_are_needed(capsys):
    assert main(["check", "rooms", str(HARD)]) == 2
    assert "must be two" in capsys.readouterr().err


def test_a_missing_file_is_not_taken_for_a_game(capsys):
    assert main(["check", "rooms", "missing.npz", str(HARD)]) == 2
    assert "no such file" in capsys.readouterr().err


ROOM = "#####\n#@$.#\n#####\n"


@pytest.mark.slow
def test_a_collection_becomes_a_bank_without_its_bad_levels(tmp_path, capsys):
    collection, out = tmp_path / "collection.xsb", tmp_path / "rooms.npz"
    collection.write_text(
        f"{ROOM}Title: Short\n\n#####\n#@$ #\n#####\n\n######\n#@ $.#\n######\n\n#####\n#@* #\n#####\n"
    )
    command = ["sokoban", "bank", "--levels", str(collection), "--out", str(out)]
    assert main(command) == 2
    assert "line 6: level 2: 1 box and 0 targets" in capsys.readouterr().err
    assert main([*command, "--skip-bad", "--size", "6"]) == 0
    said = capsys.readouterr()
    assert "left out 1 of 4 levels" in said.err
    assert "level 4: is solved already" in said.err
    assert read_bank(out).lengths.tolist() == [1, 2, 0]
    assert "0: 33.3%, 1: 33.3%, 2: 33.3%" in said.out


def test_levels_are_written_in_other_formats(tmp_path, capsys):
    first, second, third = tmp_path / "first.txt", tmp_path / "second.sok", tmp_path / "third.txt"
    first.write_text(f"; Short\n{ROOM}")
    assert main(["sokoban", "levels", str(first), "--format", "rle", "--out", str(second)]) == 0
    assert second.read_text() == "5#|#@$.#|5#\nTitle: Short\n"
    assert main(["sokoban", "levels", str(second), "--format", "boxoban", "--out", str(third)]) == 0
    assert third.read_text() == f"; 0\n{ROOM}"
    assert main(["sokoban", "levels", str(second), "--out", str(third)]) == 2
    capsys.readouterr()
    assert main(["sokoban", "levels", str(second)]) == 0
    assert capsys.readouterr().out == f"{ROOM}Title: Short\n"


def test_rooms_of_a_bank_are_written_as_levels(tmp_path, capsys):
    bank = tmp_path / "rooms.npz"
    (tmp_path / "levels.txt").write_text(ROOM)
    assert main(["sokoban", "bank", "--levels", str(tmp_path / "levels.txt"), "--out", str(bank)]) == 0
    capsys.readouterr()
    assert main(["sokoban", "levels", str(bank)]) == 0
    assert capsys.readouterr().out == ROOM
