"""Equilibria and measures of tables of win rates."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_league import league_cases

from ludory.algorithms.league.metagame.nash import saddle
from ludory.algorithms.league.metagame.nash_averaging import (
    cyclic_share,
    effective_diversity,
    known_players,
    nash,
    nash_averaging,
    nash_conv,
    strongest_cycle,
)
from ludory.algorithms.league.metagame.ratings import alpha_rank
from ludory.errors import OptionError, PluginError

ALL = league_cases("metagame")
GAMES = [name for name in ALL if not name.startswith("rpp")]
POPULATIONS = [name for name in ALL if name.startswith("rpp")]
RPS = np.array([[0.5, 0.8, 0.2], [0.2, 0.5, 0.8], [0.8, 0.2, 0.5]])


def close(found, wanted, atol=1e-8):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)


def entropy(mixture) -> float:
    used = mixture[mixture > 0]
    return float(-(used * np.log(used)).sum())


@st.composite
def coarse_games(draw):
    """Rates in steps of a quarter: ties, copies and dominated players in plenty."""
    n = draw(st.integers(1, 5))
    rates = np.full((n, n), 0.5)
    for i in range(n):
        for j in range(i):
            rates[i, j] = draw(st.integers(0, 4)) / 4
            rates[j, i] = 1 - rates[i, j]
    return rates


@pytest.mark.parametrize("name", GAMES)
def test_equilibria_of_every_table(name):
    case, atol = ALL[name], 1e-5 if name == "redundant_rps" else 1e-8
    rates, averaging = case["win_rate"], nash_averaging(case["win_rate"])
    found = nash(rates)
    close(found.mixture, case["nash_winrate"], atol)
    close(averaging.nash.mixture, case["nash_logit"], atol)
    close(averaging.skill, case["nash_skill"], atol)
    assert averaging.nash.unique == case["nash_unique"]
    close(effective_diversity(rates, found.mixture), case["effective_diversity"])


@pytest.mark.parametrize("name", GAMES)
def test_measures_of_every_table(name):
    case = ALL[name]
    rates, n = case["win_rate"], len(case["win_rate"])
    close(nash_conv(rates, np.full(n, 1 / n)), case["nash_conv_uniform"])
    close(nash_conv(rates, np.eye(n)[-1]), case["nash_conv_last"])
    close(cyclic_share(rates), case["cyclicity"])
    close(alpha_rank(rates, 1.0), case["alpharank_1"])
    close(alpha_rank(rates, 10.0), case["alpharank_10"])


@pytest.mark.parametrize("name", POPULATIONS)
def test_relative_population_performance(name):
    case = ALL[name]
    found, other = saddle(case["win_rate_ab"]), saddle(1 - case["win_rate_ab"].T)
    close(found.value, case["rpp_ab"])
    close(other.value, case["rpp_ba"])
    close(found.value + other.value, 1)
    close(found.rows, case["nash_a"])
    close(found.columns, case["nash_b"])


@given(coarse_games())
@settings(max_examples=30)
def test_an_equilibrium_gives_no_player_a_reason_to_leave(rates):
    found = nash(rates)
    assert found.mixture.sum() == pytest.approx(1)
    assert nash_conv(rates, found.mixture) < 1e-7


@given(coarse_games())
@settings(max_examples=15)
def test_a_copy_of_a_player_changes_nothing_for_the_others(rates):
    """What one LP alone does not give: the copy shares the mass of its original, and nobody else's changes."""
    order = [*range(len(rates)), 0]
    alone, twice = nash(rates), nash(rates[np.ix_(order, order)])
    assert entropy(twice.mixture) >= entropy(alone.mixture) - 1e-6
    close(twice.mixture[0], twice.mixture[-1], 1e-4)


def test_a_step_that_changes_nothing_is_not_the_end_of_the_search():
    """Without the copy the search ended; with it, it stopped at a step that changed no digit of the entropy, and raised."""
    rates = np.array([[4, 8, 0, 6, 8], [0, 4, 2, 4, 8], [8, 6, 4, 6, 2], [2, 4, 2, 4, 8], [0, 0, 6, 0, 4]]) / 8
    order = [*range(5), 0]
    close(nash(rates[np.ix_(order, order)]).mixture, [0, 1 / 8, 1 / 2, 1 / 8, 1 / 4, 0], 1e-9)


def test_equal_players_are_equally_likely():
    found = nash(np.full((5, 5), 0.5))
    close(found.mixture, 0.2)
    assert not found.unique
    assert cyclic_share(np.full((5, 5), 0.5)) == 0
    close(alpha_rank(np.full((5, 5), 0.5)), 0.2)


def test_a_player_that_loses_to_all_has_no_mass_and_the_largest_incentive():
    rates = np.block([[RPS, np.ones((3, 1))], [np.zeros((1, 3)), np.full((1, 1), 0.5)]])
    found = nash(rates)
    close(found.mixture, [1 / 3, 1 / 3, 1 / 3, 0])
    assert nash_averaging(rates).skill[3] < -10
    assert nash_conv(rates, [0, 0, 0, 1]) == pytest.approx(1.0)
    assert nash_conv(rates, found.mixture) == pytest.approx(0.0, abs=1e-12)


def test_one_player():
    assert nash([[0.5]]).mixture.tolist() == [1.0]
    assert alpha_rank([[0.5]]).tolist() == [1.0]


def test_alpha_rank_under_any_selection():
    """1 - e^(-m u) overflows at alpha 100 with 50 individuals; here nothing does, and small masses keep their digits."""
    rates = np.array([[0.5, 0.9, 0.8], [0.1, 0.5, 0.7], [0.2, 0.3, 0.5]])
    for alpha in (1e-6, 1.0, 1e2, 1e5):
        found = alpha_rank(rates, alpha)
        assert np.isfinite(found).all()
        assert found.sum() == pytest.approx(1)
    close(alpha_rank(rates, 1e5), [1, 0, 0])
    close(alpha_rank(rates, 1e-6), 1 / 3, 1e-4)
    two = alpha_rank([[0.5, 0.8], [0.2, 0.5]], 10.0)
    assert two[1] / two[0] == pytest.approx(math.exp(-49 * 6), rel=1e-9)


def test_strongest_cycle():
    rates = np.full((5, 5), 0.5)
    rates[np.ix_([1, 3, 4], [1, 3, 4])] = RPS
    found = strongest_cycle(rates)
    assert found.players == (1, 3, 4)
    assert found.strength == 0.8
    assert strongest_cycle(RPS.T).players == (0, 2, 1)
    assert strongest_cycle(ALL["transitive"]["win_rate"]) is None
    assert strongest_cycle([[0.5, 0.9], [0.1, 0.5]]) is None
    rates[1, 3] = rates[3, 1] = np.nan
    assert strongest_cycle(rates) is None, "an unplayed pair is no victory"


def test_the_strongest_cycle_is_found_among_all():
    rates = ALL["random9"]["win_rate"]
    around = [min(rates[i, j], rates[j, k], rates[k, i]) for i in range(9) for j in range(9) for k in range(9)]
    assert strongest_cycle(rates).strength == max(around)


def test_players_that_all_met_each_other():
    games = np.ones((5, 5))
    np.fill_diagonal(games, 0)
    assert known_players(games).tolist() == [0, 1, 2, 3, 4]
    games[3, [0, 1]] = games[[0, 1], 3] = 0
    assert known_players(games).tolist() == [0, 1, 2, 4]
    games[2, 4] = games[4, 2] = 0
    assert known_players(games).tolist() == [0, 1, 2], "of equals the newer one is left out"
    assert known_players(np.zeros((2, 2))).tolist() == [0]
    assert known_players(np.zeros((0, 0))).tolist() == []


def test_bad_tables_are_refused():
    with pytest.raises(OptionError, match="antisymmetric"):
        nash([[0.5, 0.9], [0.9, 0.5]])
    with pytest.raises(OptionError, match="antisymmetric"):
        nash([[0.5, np.nan], [np.nan, 0.5]])
    with pytest.raises(OptionError, match=r"\(n, n\)"):
        cyclic_share([[0.5, 0.5]])
    with pytest.raises(OptionError, match=r"\(a, b\)"):
        saddle([])
    with pytest.raises(OptionError, match="alpha"):
        alpha_rank(RPS, 0)


def test_nothing_optional_is_imported_before_it_is_needed():
    names = (
        "matchmaking.opponent_choice",
        "matchmaking.snapshots",
        "metagame.ratings",
        "metagame.nash_averaging",
        "report.files",
        "report.page",
    )
    modules = ", ".join(f"ludory.algorithms.league.{name}" for name in names)
    check = f"import sys, {modules}; print(sorted({{'ray', 'scipy', 'torch'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_scipy_is_asked_for_by_name(monkeypatch):
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "scipy"]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(PluginError, match="needs the module 'scipy'"):
        nash(RPS)
