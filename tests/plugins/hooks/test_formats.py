"""A format of recorded games in another package is known to the commands without a change here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from manual.pages import ROOT, blocks

from ludory.cli import main
from ludory.data import TrajectoryDataset
from ludory.data.formats.core import known_formats
from ludory.errors import DataError
from ludory.plugins import formats
from ludory.plugins.discovery import discover

WALKS = next(iter(blocks(ROOT / "docs" / "tutorials" / "format.md", "python"))).code
MOVES = '''
import json
from ludory.data import GameFormat
from ludory.errors import OptionError


class Moves(GameFormat):
    """The moves of each game, a JSON list."""

    id, title, files, beside = "moves", "lists of moves", ("*.moves.json",), ("moves",)

    def write(self, dataset, folder):
        folder.mkdir(parents=True, exist_ok=True)
        batch = next(dataset.batches(10_000))
        games = [batch.actions[batch.games == game][:, 0].tolist() for game in dict.fromkeys(batch.games.tolist())]
        (folder / "all.moves.json").write_text(json.dumps(games))
        return f"{len(games)} lists of moves"

    def check_game(self, game, word):
        if game.id != "TicTacToe-v0":
            raise OptionError(f"--format {word} is for TicTacToe-v0, got {game.id}; leave it out")

    def write_beside(self, folder, word):
        from ludory.data import TrajectoryDataset

        return self.write(TrajectoryDataset(folder), folder / word)
'''


def _forget() -> None:
    discover.cache_clear()
    known_formats.cache_clear()
    vars(formats).pop("_offers", None)


@pytest.fixture
def folder(install: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with a file of walks and both packages installed."""
    install("walks", {"ludory.formats": "walks = walks:Walks"}, {"walks": WALKS})
    install(
        "moves",
        {"ludory.formats": "moves = moves:Moves\nruined = nowhere:Nothing\nwrong = json:JSONDecoder"},
        {"moves": MOVES},
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.walks.csv").write_text("walk,place,move,reward\n0,0,1,0\n0,1,1,1\n1,0,0,-1\n")
    _forget()
    yield tmp_path
    _forget()


def test_a_foreign_format_is_listed_checked_and_converted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "formats"]) == 0
    assert re.search(r"^  walks +What walks is +walks$", capsys.readouterr().out, re.MULTILINE)
    assert main(["check", "data", "two.walks.csv"]) == 0
    assert "2 games of Walk, 3 decisions" in capsys.readouterr().out
    assert main(["check", "data", "*.walks.csv", "--scale", "10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["two.walks.csv"]
    assert (found["games"], found["returns_from_first_decision"]) == (2, [0.0])
    assert main(["convert", "two.walks.csv", "--from", "walks", "--scale", "10", "--out", "games"]) == 0
    batch = next(TrajectoryDataset("games").batches(10))
    assert batch.rewards.tolist() == [0, 10, -10]
    assert batch.terminated.tolist() == [False, True, True]
    with pytest.raises(DataError, match=r"walks on a line; convert them first: `ludory convert .* --from walks"):
        TrajectoryDataset("two.walks.csv")


def test_a_near_name_of_a_foreign_format_is_suggested(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "two.walks.csv", "--from", "walk", "--out", "games"]) == 2
    assert "did you mean walks?" in capsys.readouterr().err
    (folder / "bad.walks.csv").write_text("walk,place\n0,0\n")
    assert main(["check", "data", "bad.walks.csv"]) == 2
    assert "bad.walks.csv, line 2" in capsys.readouterr().err


def test_a_broken_format_is_named_and_hides_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ruined" not in known_formats()
    main(["doctor"])
    said = capsys.readouterr().out
    assert "format ruined of moves" in said
    assert "format wrong of moves" in said
    assert "must be a subclass of ludory.data.GameFormat" in said


def test_games_are_recorded_and_written_in_a_foreign_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = ["record", "random", "--games", "3", "--format", "moves", "--game"]
    assert main([*play, "HanabiTiny2P-v0", "--out", "none"]) == 2
    assert "is for TicTacToe-v0" in capsys.readouterr().err
    assert main([*play, "TicTacToe-v0", "--out", "games"]) == 0
    assert "3 lists of moves" in capsys.readouterr().out
    assert main(["convert", "games", "--from", "ludory", "--to", "moves", "--out", "again"]) == 0
    beside = (folder / "games" / "moves" / "all.moves.json").read_text()
    assert (folder / "again" / "all.moves.json").read_text() == beside
    assert len(json.loads(beside)) == 3
