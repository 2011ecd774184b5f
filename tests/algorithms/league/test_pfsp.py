"""Weightings of candidates, and which of them are forgotten."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_league import league_cases

from ludory.algorithms.league.matchmaking.opponent_choice import (
    capped_weight,
    hard_weight,
    pfsp,
    remove_monotonic_suffix,
    uniform_weight,
    variance_weight,
)
from ludory.errors import OptionError

CASES = league_cases("pfsp")
WEIGHTED = [name for name, case in CASES.items() if "variance" in case]
WEIGHTS = {
    "variance": variance_weight,
    "linear": partial(hard_weight, p=1),
    "linear_capped": capped_weight,
    "squared": hard_weight,
    "uniform": uniform_weight,
}
rates = st.lists(st.floats(0, 1), max_size=20)


@pytest.mark.parametrize("name", WEIGHTED)
def test_every_table(name):
    case = CASES[name]
    for key, weight in WEIGHTS.items():
        np.testing.assert_allclose(pfsp(case["win_rates"], weight), case[key], rtol=0, atol=1e-12)
    for p in (0.5, 1, 2, 3):
        found = pfsp(case["win_rates"], partial(hard_weight, p=p))
        np.testing.assert_allclose(found, case[f"hard_{p}"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_forgotten_players_of_every_table(name):
    assert remove_monotonic_suffix(CASES[name]["win_rates"]) == CASES[name]["monotonic_keep"]


@given(rates, st.sampled_from(sorted(WEIGHTS)))
def test_it_is_a_distribution(win_rates, name):
    found = pfsp(win_rates, WEIGHTS[name])
    assert found.shape == (len(win_rates),)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1 if win_rates else 0)


@given(rates)
def test_hard_prefers_whoever_one_loses_to(win_rates):
    found = pfsp(win_rates, partial(hard_weight, p=3))
    if 3 * (1 - np.array(win_rates, float)).sum() > 1e-3:
        assert (np.diff(found[np.argsort(win_rates)]) <= 1e-12).all()


def test_the_sum_of_the_weights_decides_not_that_of_the_rates():
    """All beaten: the weights add up to nothing while the rates add up to 3."""
    assert pfsp([1.0, 1.0, 1.0]).tolist() == [1 / 3] * 3
    assert pfsp([0.0, 0.0], WEIGHTS["variance"]).tolist() == [0.5, 0.5]


def test_rates_outside_of_0_to_1_are_clipped():
    assert pfsp([-0.5, 1.5]).tolist() == [1.0, 0.0]


def test_nobody_to_choose_from():
    assert pfsp([]).shape == (0,)
    assert remove_monotonic_suffix([]) == 0


def test_forgotten_players_of_an_array_of_several_rates():
    """`if not rates` fails for arrays: the rule takes lists and arrays, of any length."""
    for kind in (list, tuple, np.array):
        assert remove_monotonic_suffix(kind([0.9, 0.8, 0.85, 0.6])) == 3


def test_unknown_rates_are_refused():
    with pytest.raises(OptionError, match="must be numbers"):
        pfsp([0.5, float("nan")])
