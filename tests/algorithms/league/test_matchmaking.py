"""Distributions over opponents."""

from __future__ import annotations

import numpy as np
import pytest
from support.golden_league import ROLE, league_cases

from ludory.algorithms.league.matchmaking.opponent_choice import draw_opponent, opponent_branches
from ludory.algorithms.league.matchmaking.options import RULES, Matchmaking
from ludory.errors import OptionError

CASES = {name: case for name, case in league_cases("matchmaking").items() if "kind" in case}


def league_of(case) -> dict:
    columns = {"win_rate": case["win_rate"], "frozen": case["frozen"], "parent": case["parent"]}
    return columns | {"role": ROLE[case["kind"]].tolist()}


def opponent_distribution(me, **league) -> np.ndarray:
    return np.sum([branch.probability for branch in opponent_branches(me, **league)], axis=0)


def branches(me, league, rules="paper", **options) -> dict[str, np.ndarray]:
    return dict(opponent_branches(me, **league, rules=rules, options=Matchmaking(**options)))


def small(rates, roles="main main_exploiter league_exploiter", past=()) -> dict:
    """The active players' roles, then a frozen copy of each player in `past`; `rates` are those of the player asked about."""
    active = roles.split()
    frozen = [False] * len(active) + [True] * len(past)
    role = active + [active[player] for player in past]
    return {"win_rate": rates, "role": role, "frozen": frozen, "parent": [-1] * len(active) + list(past)}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", CASES)
def test_every_table(name, rules):
    league = league_of(CASES[name])
    active = np.flatnonzero(~league["frozen"])
    found = [opponent_distribution(me, **league, rules=rules) for me in active]
    np.testing.assert_allclose(found, CASES[name][f"dist_{rules}"], rtol=0, atol=1e-12)


def test_own_rates_are_enough():
    league = league_of(CASES["one_main"])
    own = league | {"win_rate": league["win_rate"][0]}
    assert (opponent_distribution(0, **own) == opponent_distribution(0, **league)).all()


@pytest.mark.parametrize("me", [0, 1, 2])
@pytest.mark.parametrize("name", ["one_main", "lopsided"])
def test_draws_follow_the_distribution(name, me):
    found, draws = opponent_branches(me, **league_of(CASES[name])), 4000
    drawn = [draw_opponent(found, seed=11, match=match) for match in range(draws)]
    for branch in found:
        for opponent, p in enumerate(branch.probability):
            count = drawn.count((opponent, branch.name))
            spread = np.sqrt(draws * p * (1 - p))
            assert count == round(draws * p) if spread < 1e-9 else abs(count - draws * p) < max(4.5 * spread, 2.0)


def test_a_draw_is_a_function_of_seed_and_match():
    found = opponent_branches(0, **league_of(CASES["one_main"]))
    first = [draw_opponent(found, 5, match) for match in range(50)]
    assert first == [draw_opponent(found, 5, match) for match in range(50)]
    assert first != [draw_opponent(found, 6, match) for match in range(50)]
    assert len({drawn.opponent for drawn in first}) > 3


def test_before_anything_is_frozen_everyone_plays_an_active_main():
    league = small([0.5, 0.5, 0.5])
    for rules in RULES:
        assert opponent_distribution(0, **league, rules=rules).tolist() == [1, 0, 0]
        assert opponent_distribution(1, **league, rules=rules).tolist() == [1, 0, 0]
        assert opponent_distribution(2, **league, rules=rules).tolist() == [1, 0, 0]
    assert branches(2, small([0.5] * 4, "main main league_exploiter main"))["no_history"].tolist() == [
        1 / 3,
        1 / 3,
        0,
        1 / 3,
    ]


def test_a_league_exploiter_plays_everything_frozen():
    league = small([0.5, 0.5, 0.5, 0.2, 0.8, 0.9], past=(0, 1, 2))
    assert branches(2, league)["pfsp"] == pytest.approx(np.array([0, 0, 0, 0.5, 0.2, 0.1]) / 0.8)


def test_a_main_plays_the_past_of_another_main_that_is_too_strong():
    roles = "main main"
    assert branches(0, small([0.5, 0.31, 0.5, 0.5], roles, (1, 1)))["self_play"][1] == pytest.approx((0.35 + 0.15) / 2)
    strong = branches(0, small([0.5, 0.3, 0.5, 0.5], roles, (1, 1)))
    assert strong["past"] == pytest.approx([0, 0, 0.125, 0.125])
    assert branches(0, small([0.5, 0.3], roles))["self_play"] == pytest.approx([0.25, 0.25]), "it has no past yet"


def test_verification_against_exploiters_then_forgotten_players_then_self_play():
    assert branches(0, small([0.5, 0.5, 0.5, 0.9, 0.29], past=(0, 1)))["exploiters"][4] == pytest.approx(0.15)
    assert "exploiters" not in branches(0, small([0.5, 0.5, 0.5, 0.9, 0.3], past=(0, 1)))
    forgotten = branches(0, small([0.5, 0.5, 0.5, 0.6, 0.8, 0.3], past=(0, 0, 0)))
    assert forgotten["forgotten"] == pytest.approx([0, 0, 0, 0.15 * 0.16 / 0.2, 0.15 * 0.04 / 0.2, 0])
    neither = branches(0, small([0.5, 0.5, 0.5, 0.7, 0.8, 0.3], past=(0, 0, 0)))
    assert neither["self_play"][0] == pytest.approx(0.5)


def test_the_rules_differ_in_the_main_exploiter_only():
    for rate, paper, pseudocode in ((0.05, 1, 1), (0.1, 1, 1), (0.15, 1, 0), (0.2, 0.5, 0), (0.9, 0.5, 0)):
        league = small([rate, 0.5, 0.5, 0.5], past=(0,))
        assert opponent_distribution(1, **league, rules="paper")[3] == paper
        assert opponent_distribution(1, **league, rules="pseudocode")[3] == pseudocode
        for me in (0, 2):
            same = [opponent_distribution(me, **league, rules=rules) for rules in RULES]
            assert (same[0] == same[1]).all()


def test_anchors_play_only_if_asked_for():
    league = small([0.5, 0.5, 0.5, 0.5, 0.5], "main main_exploiter league_exploiter anchor", (0,))
    assert opponent_distribution(0, **league)[3] == 0
    assert branches(0, league, anchors_in_pfsp=True)["pfsp"] == pytest.approx([0, 0, 0, 0.25, 0.25])
    assert branches(2, league, anchors_in_pfsp=True)["pfsp"] == pytest.approx([0, 0, 0, 0.5, 0.5])
    assert branches(1, league, anchors_in_pfsp=True).keys() == {"main", "curriculum"}


def test_shares_are_options():
    league = small([0.5, 0.5, 0.5, 0.9], past=(0,))
    found = branches(0, league, pfsp_share=0.2, self_play_share=0.8, verification_share=0.0)
    assert found["pfsp"][3] == pytest.approx(0.2)
    with pytest.raises(OptionError, match="sum 1"):
        Matchmaking(pfsp_share=0.6)


def test_without_priorities_all_candidates_of_a_branch_are_alike():
    league = small([0.5, 0.5, 0.5, 0.2, 0.8], past=(0, 1))
    assert branches(0, league, prioritised=False)["pfsp"] == pytest.approx([0, 0, 0, 0.25, 0.25])
    assert branches(2, league, prioritised=False)["pfsp"] == pytest.approx([0, 0, 0, 0.5, 0.5])


def test_wrong_questions_are_answered():
    league = small([0.5, 0.5, 0.5, 0.5], past=(0,))
    with pytest.raises(OptionError, match=r"players that do: \[0, 1, 2\]"):
        opponent_distribution(3, **league)
    with pytest.raises(OptionError, match="paper, pseudocode"):
        opponent_distribution(0, **league, rules="other")
    with pytest.raises(OptionError, match="no active main"):
        opponent_distribution(0, **small([0.5], "league_exploiter"))
    with pytest.raises(OptionError, match="one per player"):
        opponent_distribution(0, **(league | {"parent": [-1]}))
