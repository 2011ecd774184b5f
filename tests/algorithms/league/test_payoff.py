"""Decayed counts of games between players."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_league import league_cases

from ludory.algorithms.league.matchmaking.payoff import Payoff, mirrored_pairs
from ludory.errors import OptionError

CASES = league_cases("payoff")
matches = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, 0, -1])), max_size=40)


def played(games, players=4, decay=0.99) -> Payoff:
    payoff = Payoff(players, decay)
    for home, away, outcome in games:
        payoff.add_games(home, away, "dwl"[int(outcome)])
    return payoff


@pytest.mark.parametrize("name", CASES)
def test_every_table(name):
    case = CASES[name]
    payoff = played(case["matches"], int(case["n"]), float(case["decay"]))
    wanted = [case[name] for name in ("wins", "draws", "losses")]
    np.testing.assert_allclose(payoff.counts, wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(payoff.games, case["games"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(payoff.win_rate(), case["win_rate"], rtol=0, atol=1e-12)


@given(matches)
def test_a_win_of_one_is_a_loss_of_the_other(games):
    payoff = played(games)
    wins, draws, losses = payoff.counts
    assert (wins == losses.T).all()
    assert (draws == draws.T).all()
    np.testing.assert_allclose(payoff.win_rate() + payoff.win_rate().T, 1, atol=1e-12)


def test_a_match_with_oneself_changes_nothing():
    before = played([(0, 1, 1), (1, 0, 0)])
    after = played([(0, 1, 1), (0, 0, 1), (1, 1, 0), (1, 0, 0), (2, 2, -1)])
    assert (before.games == after.games).all()
    assert after.games[0, 0] == 0


def test_without_games_a_pair_is_even():
    payoff = played([(0, 1, 1)])
    assert payoff.win_rate()[0].tolist() == [0.5, 1.0, 0.5, 0.5]
    assert payoff.win_rate()[2].tolist() == [0.5] * 4


def test_too_few_games_count_as_none():
    seven, eight = played([(0, 1, 1)] * 7, decay=1.0), played([(0, 1, 1)] * 8, decay=1.0)
    assert seven.win_rate(8.0)[0, 1] == 0.5
    assert eight.win_rate(8.0)[0, 1] == 1.0
    assert played([(0, 1, 1)] * 8).win_rate(8.0)[0, 1] == 0.5, "decayed games are compared"


def test_decay_099_converges_to_100_games():
    assert played([(0, 1, 1)] * 3000).games[0, 1] == pytest.approx(100)


def test_a_new_and_a_reset_player_have_no_games():
    payoff = played([(0, 1, 1), (1, 2, 1), (0, 2, -1)], players=3)
    assert payoff.grow() == 3
    assert len(payoff) == 4
    assert payoff.games[3].sum() == payoff.games[:, 3].sum() == 0
    payoff.reset(1)
    assert payoff.games[1].sum() == payoff.games[:, 1].sum() == 0
    assert payoff.win_rate()[0, 2] == 0


@given(matches)
def test_it_survives_json_to_the_last_bit(games):
    payoff = played(games)
    again = Payoff.from_json(json.loads(json.dumps(payoff.to_json())))
    for one in (payoff, again):
        one.add_games(0, 1, "w")
    assert (again.counts == payoff.counts).all()
    assert again.decay == payoff.decay


def test_a_table_without_players_survives_json():
    assert len(Payoff.from_json(Payoff(0).to_json())) == 0


def test_mirrored_games_by_their_points():
    assert mirrored_pairs("wwldl" + "wldlw") == (0, 2, 2, 0, 1)
    assert mirrored_pairs("") == (0, 0, 0, 0, 0)
    with pytest.raises(OptionError, match="come in pairs"):
        mirrored_pairs("wld")


def test_what_is_not_there_is_refused():
    with pytest.raises(OptionError, match="players 0 to 1"):
        Payoff(2).add_games(0, 2, "w")
    with pytest.raises(OptionError, match="players 0 to 1"):
        Payoff(2).add_games(-1, 0, "w")
    with pytest.raises(OptionError, match="outcome"):
        Payoff(2).add_games(0, 1, "x")
    with pytest.raises(OptionError, match="decay"):
        Payoff(2, decay=0.0)
    with pytest.raises(OptionError, match=r"Payoff\.to_json"):
        Payoff.from_json({"decay": 0.9})
