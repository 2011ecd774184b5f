"""`ludory check` prints every property of the contract."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ludory.cli import main
from ludory.envs import make
from ludory.envs.make import make_game

Capture = pytest.CaptureFixture[str]


@pytest.mark.slow
def test_a_sound_game_passes_with_all_properties_shown(capsys: Capture) -> None:
    assert main(["check", "HanabiTiny2P-v0", "--option", "bomb=keep", "--games", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "HanabiTiny2P-v0 keeps the contract"
    assert len(lines) > 5
    assert all(line.split()[0] == "ok" for line in lines[:-1])


@pytest.mark.slow
def test_a_faulty_game_fails_and_says_where(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = make_game("HanabiTiny2P-v0")
    faulty = replace(sound, facts=replace(sound.facts, longest_game=1))
    monkeypatch.setattr(make, "make_game", lambda id, **options: faulty)
    assert main(["check", "HanabiTiny2P-v0", "--games", "4"]) == 1
    printed = capsys.readouterr().out
    assert "FAILED" in printed
    assert "does not keep the contract" in printed


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["Hanabbi2P-v0"], "did you mean"),
        (["Hanabi2P-v0", "--option", "players=3"], "Hanabi-v0"),
        (["Hanabi2P-v0", "--option", "bomb"], "must be KEY=VALUE"),
    ],
)
def test_wrong_input_is_one_line(argv: list[str], said: str, capsys: Capture) -> None:
    assert main(["check", *argv]) == 2
    assert said in capsys.readouterr().err


def test_options_are_read_as_python_values() -> None:
    from ludory.cli.common.options import parse_options

    parsed: dict[str, Any] = parse_options(["players=3", "bomb=keep", "terminal_deal=false"])
    assert parsed == {"players": 3, "bomb": "keep", "terminal_deal": False}
