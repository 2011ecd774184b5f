"""`ludory sokoban bank` and `ludory check rooms`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ludory.cli import main
from ludory.envs.sokoban.bank import read_bank

HARD = Path(__file__).parents[2] / "golden" / "text_games" / "boxoban" / "boxoban_hard.txt"


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


def test_splits_have_no_room_in_common(capsys):
    assert main(["check", "rooms", "Sokoban-v0(split='train')", "Sokoban-v0(split='test')", "--rooms", "80"]) == 0
    assert "in both: 0 distinct rooms" in capsys.readouterr().out


def test_two_sets_are_needed(capsys):
    assert main(["check", "rooms", str(HARD)]) == 2
    assert "must be two" in capsys.readouterr().err


def test_a_missing_file_is_not_taken_for_a_game(capsys):
    assert main(["check", "rooms", "missing.npz", str(HARD)]) == 2
    assert "no such file" in capsys.readouterr().err
