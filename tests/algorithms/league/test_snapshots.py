"""When players are copied and reset."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.golden_league import ROLE, league_cases

from ludory.algorithms.league.matchmaking.options import SnapshotRules, default_unit
from ludory.algorithms.league.matchmaking.snapshots import (
    decide,
    opponents_to_beat,
    smallest_rate,
    snapshot_reason,
)
from ludory.errors import OptionError

TABLE = league_cases("matchmaking", "snapshot_table")["snapshot_table"]


@pytest.mark.parametrize("rules", ["paper", "pseudocode"])
def test_the_whole_table(rules):
    found = [
        [
            [
                snapshot_reason(role, steps, 2e9, rate, SnapshotRules(rules)) is not None
                for rate in TABLE["min_win_rate"]
            ]
            for steps in TABLE["steps"]
        ]
        for role in ROLE
    ]
    assert (np.array(found) == TABLE[f"ready_{rules}"]).all()


def test_reasons():
    assert snapshot_reason("main", 100, 100, 0.9) == "steps"
    assert snapshot_reason("main_exploiter", 1, 100, 0.9) == "strong"
    assert snapshot_reason("main_exploiter", 200, 100, 0.1) == "steps"
    assert snapshot_reason("league_exploiter", 99, 100, 0.7) is None
    with pytest.raises(OptionError, match="does not learn"):
        snapshot_reason("anchor", 1, 1, 0.5)


def test_an_empty_league_makes_nobody_strong():
    assert math.isnan(smallest_rate([]))
    assert math.isnan(smallest_rate([], []))
    assert snapshot_reason("league_exploiter", 0, 100, smallest_rate([])) is None


def test_a_strong_player_has_played_enough_against_each():
    assert smallest_rate([0.9, 0.8], [50, 80]) == 0.8
    assert math.isnan(smallest_rate([0.9, 0.8], [49.9, 80]))
    assert smallest_rate([0.9, 0.8], [10, 10], SnapshotRules(min_games=5)) == 0.8


def test_strength_by_the_lower_bound():
    rules = SnapshotRules(strength="wilson")
    assert smallest_rate([0.9, 0.75], [100, 60], rules) == pytest.approx(0.6277, abs=1e-4)
    assert snapshot_reason("main_exploiter", 0, 100, smallest_rate([0.75], [60], rules), rules) is None
    assert snapshot_reason("main_exploiter", 0, 100, smallest_rate([0.85], [100], rules), rules) == "strong"
    with pytest.raises(OptionError, match="games="):
        smallest_rate([0.9], None, rules)


def test_a_smallest_of_noisy_rates_is_biased_and_the_reason_for_the_option():
    """A true 75 % against each of 20, over 199 independent games each, passes 70 % in about a third of the cases."""
    counts = np.random.default_rng(0).binomial(199, 0.75, (4000, 20))
    passed = np.mean([smallest_rate(row / 199, np.full(20, 199)) > 0.7 for row in counts])
    assert passed == pytest.approx(0.35, abs=0.05)


def test_whom_a_strong_player_beats():
    role = ["main", "main", "main_exploiter", "anchor", "main", "main_exploiter"]
    frozen, parent = [False, False, False, True, True, True], [-1, -1, -1, -1, 0, 2]
    assert opponents_to_beat("main", role, frozen, parent).tolist() == [4, 5]
    assert opponents_to_beat("league_exploiter", role, frozen, parent).tolist() == [4, 5]
    assert opponents_to_beat("main_exploiter", role, frozen, parent).tolist() == [0, 1]


def test_a_main_exploiter_is_reset_after_its_copy_and_a_main_is_not():
    decision = decide("main_exploiter", 200, 100, 0.1, seed=0, number=0)
    assert decision is not None
    assert decision.reset
    kept = decide("main", 200, 100, 0.1, seed=0, number=0)
    assert kept is not None
    assert not kept.reset
    assert decide("main", 99, 100, 0.9, seed=0, number=0) is None


def test_resets_by_role_drawn_once_per_snapshot():
    def resets(role, seed=3):
        return [decide(role, 1000, 100, 0.9, seed=seed, number=number).reset for number in range(2000)]

    assert not any(resets("main"))
    assert all(resets("main_exploiter"))
    assert abs(sum(resets("league_exploiter")) - 500) < 4.5 * math.sqrt(2000 * 0.25 * 0.75)
    assert resets("league_exploiter") == resets("league_exploiter")
    assert resets("league_exploiter") != resets("league_exploiter", seed=4)


def test_unit_of_steps():
    assert default_unit(64_000_000) == 1_000_000
    assert default_unit(1000) == 50_000


def test_wrong_options_are_refused():
    with pytest.raises(OptionError, match="rate or wilson"):
        SnapshotRules(strength="lower")
    with pytest.raises(OptionError, match="paper, pseudocode"):
        SnapshotRules(rules="mine")
