"""`ludory eval`: one agent, a team, a cross-play matrix; as a table and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ludory.agents.evaluation.cross_play import cross_play
from ludory.agents.evaluation.evaluate import evaluate
from ludory.cli import main
from ludory.cli.eval import run

SMALL = "HanabiSmall2P-v0"
BOTS = ["hanabi/iggi", "hanabi/piers"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--game", SMALL, "--games", "40", "--seed", "3", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_one_agent_plays_all_seats(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "hanabi/iggi")
    expected = evaluate("hanabi/iggi", SMALL, games=40, seed=3)
    assert found["agents"] == ["hanabi/iggi"] * 2
    assert (found["game"], found["games"], found["seed"]) == (SMALL, 40, 3)
    assert found["estimates"]["return"]["mean"] == pytest.approx(expected.mean)
    assert found["estimates"]["return"]["stderr"] == pytest.approx(expected.stderr)


def test_several_agents_make_a_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *BOTS)
    expected = cross_play(BOTS, SMALL, games=40, seed=3).estimates()
    assert found["agents"] == BOTS
    assert found["crossplay"] == [[one._asdict() for one in row] for row in expected]


def test_one_agent_makes_a_matrix_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(answer(capsys, "hanabi/iggi", "--crossplay")["crossplay"]) == 1


def test_several_agents_are_a_team_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, *BOTS, "--no-crossplay")
    assert found["agents"] == BOTS
    assert found["estimates"]["return"]["mean"] == evaluate(BOTS, SMALL, games=40, seed=3).mean


def test_options_reach_the_game(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "random", "--option", "bomb=keep")
    assert found["options"] == {"bomb": "keep"}
    assert (
        found["estimates"]["return"]["mean"]
        == found["estimates"]["stacks"]["mean"]
        > found["estimates"]["score"]["mean"]
    )


def test_a_single_game_has_no_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    run(["hanabi/iggi", "--game", SMALL, "--games", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["estimates"]["return"]["stderr"] is None


def test_table_of_one_agent_shows_score_stacks_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["random", "--game", SMALL, "--games", "40"]) == 0
    table = capsys.readouterr().out
    assert "standard error" in table
    assert "95 % interval" in table
    assert all(word in table for word in ("score", "stacks", "end = bomb", "random", "40 games"))


def test_table_of_several_agents_has_a_cell_for_each_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BOTS, "--game", SMALL, "--games", "40"]) == 0
    table, _, lead = capsys.readouterr().out.partition("self-play of")
    assert table.count("±") == 4 + 1 + 1  # the caption says what it is, and a line has the mean of both agents
    assert "mean ± standard error" in table
    assert table.count("hanabi/piers") == 2
    assert "each with itself: " in table
    assert "with each other: " in table
    assert "hanabi/iggi minus that of hanabi/piers" in lead


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hanabi/igi", "--game", SMALL], "hanabi/iggi"),
        (["random", "--game", "HanabiSmal2P-v0"], SMALL),
        (["random", "random", "random", "--no-crossplay", "--game", SMALL], "2 seats, got 3 agents"),
        (["random", "--game", SMALL, "--games", "0"], "games=0"),
        (["random", "--game", SMALL, "--option", "colour"], "KEY=VALUE"),
        (["random"], "--game"),
    ],
)
def test_bad_input_ends_with_a_message(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", *arguments]) == 2
    assert message in capsys.readouterr().err
