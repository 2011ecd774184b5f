"""Ratings against tables, printed examples and their own definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_league import league_cases

from ludory.agents.evaluation.intervals import wilson
from ludory.algorithms.league.metagame.ratings import CHESS, bradley_terry, sequential_elo
from ludory.errors import OptionError

ELO = league_cases("ratings", "elo_")


def close(found, wanted, atol):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)


@pytest.mark.parametrize("name", ELO)
def test_elo_and_bradley_terry_tables(name):
    case = ELO[name]
    close(sequential_elo(int(case["n"]), case["games"], float(case["k"]), float(case["init"])), case["elo"], 1e-9)
    found = bradley_terry(case["score_matrix"], float(case["bt_prior_draws"]))
    close(found.strength, case["bt_strength"], 1e-8)
    close(found.elo, case["bt_elo"], 1e-6)
    close(found.elo * math.log(10), case["bt_elo_alphastar"], 1e-5)


def test_sequential_elo_depends_on_the_order_and_bradley_terry_does_not():
    games = ELO["elo_bigger"]["games"]
    assert np.abs(sequential_elo(10, games) - sequential_elo(10, games[::-1])).max() > 1
    assert sequential_elo(3, []).tolist() == [1200.0] * 3


def test_expected_points_equal_points_at_the_maximum():
    """The likelihood equations, virtual draws included."""
    points = ELO["elo_bigger"]["score_matrix"] + 0.5
    np.fill_diagonal(points, 0)
    t = bradley_terry(ELO["elo_bigger"]["score_matrix"]).strength
    expected = ((points + points.T) / (1 + np.exp(t - t[:, None]))).sum(1)
    close(expected, points.sum(1), 1e-8)
    assert t.sum() == pytest.approx(0, abs=1e-12)


def test_a_player_that_only_won_has_a_finite_strength():
    found = bradley_terry([[0, 100], [0, 0]])
    assert found.strength[0] - found.strength[1] == pytest.approx(math.log(100.5 / 0.5))
    assert found.elo[0] == pytest.approx(CHESS * math.log(201) / 2)


def test_standard_error_of_two_even_players():
    """Difference of strengths after n even games: variance 4/n, a quarter of it for each side."""
    assert bradley_terry([[0, 49.5], [49.5, 0]]).deviation == pytest.approx([math.sqrt(4 / 100 / 4)] * 2)


def test_leagues_of_nobody_and_of_one():
    assert bradley_terry(np.zeros((0, 0))).strength.shape == (0,)
    assert bradley_terry([[3.0]]).strength.tolist() == [0.0]


def test_wilson_table():
    case = league_cases("ratings", "wilson")["wilson"]
    close(np.stack(wilson(*case["wins_n"].T), 1), case["ci95"], 1e-12)


@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_holds_the_rate_and_stays_in_0_to_1(games, share):
    low, high = wilson(share * games, games)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1


def test_bad_tables_are_refused():
    with pytest.raises(OptionError, match=r"\(n, n\)"):
        bradley_terry([[0, 1, 2]])
    with pytest.raises(OptionError, match="finite"):
        bradley_terry([[0, math.nan], [1, 0]])
    with pytest.raises(OptionError, match="virtual_draws"):
        bradley_terry([[0, 1], [1, 0]], virtual_draws=0)
