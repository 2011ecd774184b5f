"""The league's benchmark: who trains against whom, and what its table says."""

from __future__ import annotations

import pytest

from ludory.benchmarks.arena.league import exploitability, mean_over_seeds, percent
from ludory.benchmarks.arena.league_run import CONTENDERS, HELD_OUT, STYLES, league_config

pytestmark = pytest.mark.slow

STEPS = 4_000_000


@pytest.mark.parametrize("name", CONTENDERS)
def test_no_contender_meets_a_held_out_style_and_all_have_the_same_budget(name: str) -> None:
    config = league_config(name, seed=1, steps=STEPS, teacher="pi_sup.ludory")
    assert not set(config.anchors) & set(HELD_OUT)
    assert set(config.anchors) | set(HELD_OUT) == set(STYLES)
    assert config.budget_steps == STEPS
    assert config.learner_options == league_config("league", 1, STEPS, "pi_sup.ludory").learner_options
    assert config.matchmaking.anchors_in_pfsp == name.endswith("styles")


def test_units_are_a_16th_of_the_budget_so_that_exploiters_are_frozen() -> None:
    assert league_config("league", 1, STEPS, "pi_sup.ludory").unit_steps == STEPS // 16
    assert league_config("league, short units", 1, STEPS, "pi_sup.ludory").unit_steps == STEPS // 64


def test_self_play_meets_only_itself() -> None:
    config = league_config("self-play", 1, STEPS, "pi_sup.ludory")
    assert config.roles == (1, 0, 0)
    assert config.matchmaking.self_play_share == 1


def test_a_mean_over_seeds_has_students_interval() -> None:
    found = mean_over_seeds([0.5, 0.6, 0.7])
    assert found.mean == pytest.approx(0.6)
    assert found.high - found.mean == pytest.approx(4.302653 * 0.1 / 3**0.5)  # t, 2 degrees of freedom
    assert mean_over_seeds([0.5])[1:] == (0.0, 1.0)


def test_a_score_below_one_half_is_not_printed_as_exploitability() -> None:
    assert exploitability([0.62, 0.6, 0.64]) == "12.0 [10.0, 14.0]"
    assert exploitability([0.62, 0.0, 1.0]) == "12.0 (one seed)"
    assert percent([0.62, 0.0, 1.0]) == "62.0 (one seed)"
    assert exploitability([0.12, 0.10, 0.14]) == "none found (upper end -36.0)"
