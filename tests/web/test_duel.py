"""Two agents compared until one is surely better."""

from __future__ import annotations

import numpy as np
import pytest

from ludory.agents.evaluation.beside import paired_scores
from ludory.agents.evaluation.intervals import sequential_interval
from ludory.data.viewing.replay_page import moment
from ludory.envs.make import make_game
from ludory.errors import OptionError
from ludory.plugins.spec import short_name
from ludory.web.duel import NO_GAMES, DuelQuestion, check_duel, duel_chart, duel_page, joined, next_pairs

DUEL = DuelQuestion("TicTacToe-v0", "mcts(simulations=50)", "random", 1)


def test_a_duel_stops_when_one_is_surely_better() -> None:
    answer = NO_GAMES
    while piece := next_pairs(DUEL, answer):
        function, *arguments = piece
        answer = joined(answer, function(*arguments))
    page = duel_page(DUEL, answer)
    assert page["decided"]
    assert page["lead"]["low"] > 0
    assert page["means"][0] > page["means"][1]
    assert "mcts(simulations=50) is better" in page["verdict"]
    assert len(answer.scores) < 500
    assert "<svg" in duel_chart(answer, "Lead")


def test_scores_do_not_depend_on_the_pieces() -> None:
    game = make_game("TicTacToe-v0")
    whole = paired_scores("random", "mcts(simulations=20)", game, 12, seed=3)
    parts = [paired_scores("random", "mcts(simulations=20)", game, 6, seed=3, first_game=first) for first in (0, 6)]
    np.testing.assert_array_equal(whole.agent, np.concatenate([part.agent for part in parts]))


@pytest.mark.slow
def test_equal_agents_are_rarely_told_apart_however_often_one_looks() -> None:
    """Looking after every game: a usual 95 % interval would be wrong in most of these runs at some time."""
    draws = np.random.default_rng(0).normal(0, 1, (200, 600))
    wrong = sum(any(sequential_interval(row[:n]).decided for n in range(30, 601, 5)) for row in draws)
    assert wrong <= 20  # 5 % of 200 are 10


def test_a_real_difference_is_found() -> None:
    row = np.random.default_rng(1).normal(0.5, 1, 300)
    found = sequential_interval(row)
    assert found.decided
    assert found.low < 0.5 < found.high
    assert not sequential_interval(row[:10]).decided
    assert np.isinf(sequential_interval([1.0]).high)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("random", "random", "choose two that differ"),
        ("human", "random", "choose an agent"),
        ("random", "hanabi/iggi", "Hanabi"),
    ],
)
def test_duels_that_cannot_be_fought_are_refused(first: str, second: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        check_duel(DUEL._replace(first=first, second=second))


def test_moments_worth_jumping_to() -> None:
    assert moment({"lives": 3}, {"lives": 2}, [1], [1], True) == "a life is lost"
    assert (
        moment({"alive": [True, True]}, {"alive": [True, False]}, [0, 0], [1, 0], False)
        == "seat 1 is out; seat 0 leads"
    )
    named = moment({"declaration": None}, {"declaration": "sixes", "bid": 31, "bidder": 2}, [0], [0], True)
    assert named == "seat 2 plays sixes for 31"
    assert moment({"lives": 3}, {"lives": 3}, [1, 0], [2, 0], False) == ""


def test_pages_show_no_folders_of_checkpoints() -> None:
    assert short_name("/home/me/runs/ppo-seed1/hanabi.ludory(seed=1)") == "ppo-seed1/hanabi.ludory(seed=1)"
    assert short_name("sparta(hanabi/smartbot)") == "sparta(hanabi/smartbot)"
