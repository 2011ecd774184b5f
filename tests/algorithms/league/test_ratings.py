"""Ratings against tables, printed examples and their own definitions."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_league import league_cases

from ludory.agents.evaluation.intervals import wilson
from ludory.algorithms.league.metagame.multiplayer_ratings import Placement, plackett_luce, trueskill
from ludory.algorithms.league.metagame.ratings import CHESS, Glicko, bradley_terry, glicko1, glicko2, sequential_elo
from ludory.errors import OptionError, PluginError

ELO = league_cases("ratings", "elo_")
GLICKO = league_cases("ratings", "glicko_")
PLACES = league_cases("ratings", "trueskill_")
PAPER = {"ratings": [1400.0, 1550.0, 1700.0], "deviations": [30.0, 100.0, 300.0], "scores": [1.0, 0.0, 0.0]}


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


@pytest.mark.parametrize("name", GLICKO)
def test_glicko_tables(name):
    case = GLICKO[name]
    before = Glicko(float(case["r"]), float(case["rd"]), float(case["vol"]))
    games = (case["opp_r"], case["opp_rd"], case["score"])
    close(glicko1(before, *games)[:2], case["glicko1"], 1e-8)
    close(glicko2(before, *games, tau=float(case["tau"])), case["glicko2"], 1e-8)


def test_glickmans_printed_examples():
    assert glicko1(Glicko(1500, 200), **PAPER)[:2] == pytest.approx((1464, 151.4), abs=0.2)
    assert glicko2(Glicko(1500, 200), **PAPER) == pytest.approx((1464.06, 151.52, 0.05999), abs=0.01)


def test_a_period_without_games_only_widens_the_deviation():
    before, none = Glicko(1600, 50, 0.06), {"ratings": [], "deviations": [], "scores": []}
    after = glicko2(before, **none)
    assert (after.rating, after.volatility) == (1600, 0.06)
    assert after.deviation == pytest.approx(math.hypot(50, 0.06 * 173.7178))
    assert glicko1(before, **none) == before
    assert glicko1(before, **none, c=30).deviation == pytest.approx(math.hypot(50, 30))
    assert glicko1(before, **none, c=1000).deviation == pytest.approx(350)


def test_a_great_surprise_raises_the_volatility():
    games = {"ratings": [2500.0] * 4, "deviations": [30.0] * 4, "scores": [1.0] * 4}
    assert glicko2(Glicko(1500, 50, 0.06), **games).volatility > 0.06


def placements(case) -> list[Placement]:
    rows, n = case["games"], int(case["n"])
    return [Placement(*([int(x) for x in half if x >= 0] for half in (row[:n], row[n:]))) for row in rows]


@pytest.mark.parametrize("name", PLACES)
def test_placements(name):
    case = PLACES[name]
    found = trueskill(int(case["n"]), placements(case), float(case["draw_probability"]))
    close(found.mu, case["mu"], 1e-6)
    close(found.sigma, case["sigma"], 1e-6)
    close(found.exposed, case["exposed"], 5e-6)
    other = plackett_luce(int(case["n"]), placements(case))
    close(other.mu, case["openskill_pl_mu"], 1e-6)
    close(other.sigma, case["openskill_pl_sigma"], 1e-6)


@pytest.mark.parametrize(
    ("module", "rate"), [("trueskill", trueskill), ("scipy", trueskill), ("openskill", plackett_luce)]
)
def test_a_missing_library_is_named(monkeypatch, module, rate):
    for loaded in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PluginError, match=f"needs the module '{module}'"):
        rate(2, [])


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
