"""A package's game whose rules run elsewhere, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ludory.cli import main

GAMES = "Relay-v0 = games.external:relay\nNoughts-v0 = games.external:tic_tac_toe\nGuess-v0 = games.external:guess"


@pytest.fixture(autouse=True)
def installed(install: Callable[..., Path], look_again: Callable[[], None]) -> None:
    install("elsewhere", {"ludory.games": GAMES})
    look_again()


def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "games"]) == 0
    assert "Relay-v0" in capsys.readouterr().out


def test_it_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "Noughts-v0", "--games", "4"]) == 0
    printed = capsys.readouterr().out
    assert "Noughts-v0 keeps the contract" in printed
    assert "gather: not tested: games cannot be copied" in printed


@pytest.mark.slow
def test_it_is_trained_evaluated_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "relay.ludory")
    assert (
        main(["train", "ppo", "--env", "Guess-v0", "--option", "workers=1", "--timesteps", "512", "--out", model]) == 0
    )
    assert main(["eval", model, "--game", "Guess-v0", "--games", "20"]) == 0
    assert main(["record", model, "--game", "Guess-v0", "--games", "20", "--out", str(tmp_path / "set")]) == 0
    capsys.readouterr()


def test_it_is_watched_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "Noughts-v0", "random", "--seed", "1"]) == 0
    assert "x" in capsys.readouterr().out


def test_a_search_refuses_it_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "sparta(random)", "--game", "Noughts-v0"]) != 0
    said = capsys.readouterr().err.strip()
    assert said
    assert "\n" not in said
