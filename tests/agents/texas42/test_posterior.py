"""Weights of worlds, sampling until sure, and exploration."""

from __future__ import annotations

import numpy as np
import pytest
from support.golden_texas42 import load

import ludory
from ludory.agents.texas42.expected_value.decision_value import Adaptive, WorldSampling, value_of
from ludory.agents.texas42.expected_value.exploration import BLUNDER, BOLTZMANN, EPSILON, GREEDY, Exploration, choose
from ludory.agents.texas42.expected_value.posterior import (
    PlayAdvantages,
    Posterior,
    advantages,
    ess_of,
    evidence,
    log_likelihood,
    normalised,
    past_plays,
    weigh,
)
from ludory.agents.texas42.play.choice import question_of
from ludory.agents.texas42.solver.solver import ILLEGAL, Solver
from ludory.envs.texas42.worlds import Worlds
from ludory.errors import OptionError

SOLVER = Solver()


def position(plays: int, decl: int = 4, seed: int = 3):
    """A game after some random plays, and the question of the seat to move."""
    engine = ludory.make_engine("Texas42Play-v0", num_games=1, seed=seed)
    engine.reset(options={"seed_deal": seed, "decl": decl})
    draw = np.random.default_rng(seed)
    for _ in range(plays):
        engine.step(np.array([draw.choice(np.flatnonzero(engine.legal()[0]))]))
    return engine.state, question_of(engine.state, 0, engine.legal()[0], 5)


# --- Evidence -------------------------------------------------------------------------------------------------------------


def test_own_plays_are_no_evidence_and_the_suit_is_that_of_the_trick():
    state, question = position(14)
    me = question.seat
    plays = past_plays(state, 0)
    assert [play.tile for play in plays] == state.tiles[0, :14].tolist()
    seen = evidence(state, 0, me, 8)
    assert all(play.seat != me for play in seen)
    others = [play for play in plays if play.seat != me]
    assert seen == others[-8:]
    for k, play in enumerate(plays):
        assert play.trick == tuple(state.tiles[0, k - k % 4 : k].tolist())
        assert play.leader == state.seats[0, k - k % 4]
        assert play.later[play.seat] >> play.tile & 1


@pytest.mark.slow
def test_in_every_world_the_hands_of_then_are_rebuilt_and_all_plays_were_legal():
    row = load("hands.parquet")[5]
    engine = ludory.make_engine("Texas42Play-v0", num_games=1)
    engine.reset(
        options={"deal": row["deal"], "decl": row["decl"], "leader": row["leader"], "plays": row["plays"][:21]}
    )
    state = engine.state
    question = question_of(state, 0, engine.legal()[0], 0)
    held = question.worlds(Worlds(question.known).choose(20, 1, 20)).held
    plays = evidence(state, 0, question.seat, 8)
    seen = advantages(SOLVER, question, held, plays)
    for play, one in zip(plays, seen, strict=True):
        legal = (one.q != ILLEGAL) @ (1 << np.arange(28))
        number = state.tiles[0].tolist().index(play.tile)
        then = held[:, play.seat] | play.later[play.seat]
        assert (legal & ~then == 0).all()
        mask = row["legal_masks"][number]
        if question.seat != play.seat and len(play.trick) == 0:
            assert (legal == then).all(), "the leader may play all that it holds"
        assert mask >> play.tile & 1


@pytest.mark.slow
def test_worlds_in_which_a_play_broke_the_rules_are_refused():
    state, question = position(18, decl=5)
    me, held = question.seat, state.held.copy()
    others = [seat for seat in range(4) if seat != me]
    seat, other, tile = next(
        (seat, other, tile)
        for seat in others
        for other in others
        for tile in range(28)
        if int(state.cannot[0, seat]) >> tile & int(held[0, other]) >> tile & 1
    )
    given = int(held[0, seat]) & -int(held[0, seat])
    held[0, seat] += (1 << tile) - given
    held[0, other] += given - (1 << tile)
    with pytest.raises(RuntimeError, match="could not be played"):
        advantages(SOLVER, question, held, evidence(state, 0, me, 28))


def test_likelihood_by_hand():
    q = np.full((2, 28), ILLEGAL, np.int16)
    q[0, [1, 2]], q[1, [1, 2, 3]] = (10, 0), (0, 0, 0)
    found = log_likelihood([PlayAdvantages(q, 1)], 2, tau=10.0, slip=0.1)
    first = 0.9 * np.exp(0.5) / (np.exp(0.5) + np.exp(-0.5)) + 0.05
    assert found == pytest.approx(np.log([first, 1 / 3]))
    careless = log_likelihood([PlayAdvantages(q, 1)], 2, tau=10.0, slip=1.0)
    assert careless == pytest.approx(np.log([1 / 2, 1 / 3]))


def test_weights_sum_to_one_and_few_effective_worlds_are_softened():
    logs = np.array([0.0, -50.0, -1.0])
    weights = normalised(logs, 30.0)
    assert weights.sum() == pytest.approx(1)
    assert weights[1] / weights[0] == pytest.approx(np.exp(-30))
    q = np.full((100, 28), ILLEGAL, np.int16)
    q[:, [0, 1]] = (0, 42)
    q[0, [0, 1]] = (42, 0)
    one = weigh([PlayAdvantages(q, 0)] * 8, 100, Posterior(tau=0.1))
    assert one.weights.sum() == pytest.approx(1)
    assert one.weights.min() >= 0.3 / 100 - 1e-12, "mixed with equal weights"
    assert one.ess == pytest.approx(ess_of(one.weights))
    assert one.max_w == pytest.approx(one.weights.max())
    assert 1 <= one.k_eff <= 100
    assert weigh([], 7, Posterior()).ess == 7


@pytest.mark.slow
def test_weighting_is_active_and_belongs_to_one_decision():
    state, question = position(13)
    value = value_of(SOLVER, state, 0, question, WorldSampling(40, 0, posterior=Posterior()))
    assert 1 <= value.weights.ess < 40
    again = value_of(SOLVER, state, 0, question, WorldSampling(40, 0, posterior=Posterior()))
    assert again.weights.ess == value.weights.ess
    assert (again.mean == value.mean).all()
    equal = value_of(SOLVER, state, 0, question, WorldSampling(40, 0))
    assert equal.weights.ess == 40
    assert (equal.q == value.q).all(), "the same worlds, weighed otherwise"


@pytest.mark.slow
def test_weights_are_normalised_over_all_batches():
    state, question = position(16)
    rules = Posterior(tau=3.0)
    found = value_of(SOLVER, state, 0, question, WorldSampling(1, 0, Adaptive(16, 64, 64, 1e-9), rules))
    assert found.samples == 64
    assert not found.converged
    assert found.weights.weights.sum() == pytest.approx(1)
    batches = found.weights.weights.reshape(4, 16).sum(axis=1)
    assert np.ptp(batches) > 1e-6, "each batch on its own would weigh a quarter"


# --- Sampling -------------------------------------------------------------------------------------------------------------


def test_all_worlds_give_what_was_recorded_and_no_error():
    state, question = position(21)
    value = value_of(SOLVER, state, 0, question, WorldSampling(5, 2000))
    worlds = Worlds(question.known)
    assert value.enumerated
    assert value.samples == worlds.count == value.worlds_total
    assert value.sem.max() == 0
    held = question.worlds(worlds.all())
    made = SOLVER.make_after(held, question.bid, question.banked)[:, list(value.tiles)].mean(axis=0)
    assert value.p_make == pytest.approx(made if question.declares else 1 - made)
    points, density = np.arange(-42, 43), value.density()
    assert density.sum(axis=1) == pytest.approx(1)
    assert density @ points == pytest.approx(value.mean)
    assert density @ points**2 - value.mean**2 == pytest.approx(value.variance)


def test_chances_are_of_the_real_bid_with_the_points_so_far():
    """The threshold is not that of a first lead, and not always that of 30."""
    for plays in (4, 10, 17):
        for bid in (30, 36, 42):
            engine = ludory.make_engine("Texas42Play-v0", num_games=1)
            engine.reset(options={"seed_deal": plays, "decl": 2, "bid": bid, "bidder": 1, "leader": 1})
            for _ in range(plays):
                engine.step(engine.legal().argmax(axis=1))
            question = question_of(engine.state, 0, engine.legal()[0], 1)
            value = value_of(SOLVER, engine.state, 0, question, WorldSampling(6, 0))
            others = Worlds(question.known).choose(6, 1, 0)
            held = question.worlds(others)
            made = SOLVER.make_after(held, bid, question.banked)[:, list(value.tiles)].mean(axis=0)
            assert value.p_make == pytest.approx(made if question.declares else 1 - made)


def test_sampling_stops_when_sure_or_at_its_end():
    state, question = position(9)
    adaptive = Adaptive(16, 32, 2000, 2.0)
    found = value_of(SOLVER, state, 0, question, WorldSampling(1, 0, adaptive))
    assert found.converged
    assert found.sem.max() < 2.0
    assert 32 <= found.samples < 2000
    left_out = 1 - found.samples / found.worlds_total
    assert found.sem == pytest.approx(np.sqrt(found.variance / (found.samples - 1) * left_out))
    short = value_of(SOLVER, state, 0, question, WorldSampling(1, 0, Adaptive(16, 16, 24, 0.01)))
    assert short.samples == 24
    assert not short.converged


def test_of_few_worlds_none_is_drawn_twice_and_all_of_them_are_exact():
    state, question = position(17)
    every = value_of(SOLVER, state, 0, question, WorldSampling(1, 10_000))
    drawn = value_of(SOLVER, state, 0, question, WorldSampling(1, 0, Adaptive(7, 14, 20_000, 1e-9)))
    assert drawn.samples == drawn.worlds_total == every.samples > 14
    assert drawn.converged
    assert (drawn.sem == 0).all()
    assert drawn.mean == pytest.approx(every.mean)
    assert sorted(map(tuple, drawn.q)) == sorted(map(tuple, every.q))


def test_density_mean_and_variance_are_of_the_same_weights():
    state, question = position(13)
    value = value_of(SOLVER, state, 0, question, WorldSampling(40, 0, posterior=Posterior(tau=3.0)))
    density, points = value.density(), np.arange(-42, 43)
    assert density.sum(axis=1) == pytest.approx(np.ones(len(value.tiles)))
    assert density @ points == pytest.approx(value.mean)
    assert density @ points**2 - value.mean**2 == pytest.approx(value.variance, abs=1e-9)


# --- Exploration ----------------------------------------------------------------------------------------------------------


def chosen(rules: Exploration, mean=(3.0, 1.0, -9.0), greedy: int = 0, n: int = 2000):
    draw = np.random.default_rng(1)
    return [choose(np.array(mean), greedy, rules, draw) for _ in range(n)]


@pytest.mark.slow
def test_exploration_keeps_its_rates_and_names_itself():
    assert {(one.place, one.mode, one.q_gap) for one in chosen(Exploration())} == {(0, GREEDY, 0.0)}
    strays = [one for one in chosen(Exploration(epsilon=0.3)) if one.mode == EPSILON]
    assert abs(len(strays) / 2000 - 0.3) < 0.05
    assert {one.place for one in strays} == {0, 1, 2}
    blunders = [one for one in chosen(Exploration(blunder=0.2)) if one.mode == BLUNDER]
    assert abs(len(blunders) / 2000 - 0.2) < 0.05
    assert {(one.place, one.q_gap) for one in blunders} == {(1, 2.0)}, "the third tile loses more than the cap"
    warm = [one.place for one in chosen(Exploration(temperature=2.0))]
    odds = np.exp([0, -1, -6])
    assert np.bincount(warm, minlength=3) / 2000 == pytest.approx(odds / odds.sum(), abs=0.05)
    assert {one.mode for one in chosen(Exploration(temperature=2.0))} == {BOLTZMANN}
    assert {one.mode for one in chosen(Exploration(blunder=1.0), mean=(1.0, 1.0))} == {GREEDY}, "nothing to lose"


def test_settings_out_of_range_are_refused():
    for make in (
        lambda: Posterior(tau=0),
        lambda: Posterior(window=0),
        lambda: Adaptive(minimum=100, maximum=50),
        lambda: Adaptive(threshold=0),
        lambda: Exploration(epsilon=1.5),
        lambda: Exploration(temperature=-1),
        lambda: WorldSampling(worlds=0),
    ):
        with pytest.raises(OptionError):
            make()
