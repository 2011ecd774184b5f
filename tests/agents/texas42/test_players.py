"""E[Q] of Texas 42 against recorded numbers, and the players built on the solver."""

from __future__ import annotations

import numpy as np
import pytest
from support.golden_texas42 import load

import ludory
from ludory.agents.make import make_agent
from ludory.agents.seat import Seat
from ludory.agents.texas42.play.choice import Question, question_of
from ludory.agents.texas42.play.pimc import bid_thirty
from ludory.agents.texas42.solver.solver import Solver
from ludory.envs.make import make_game
from ludory.envs.texas42.state import BID_30, DECLARE_0, PASS
from ludory.envs.texas42.tiles import FOLLOW, TILE_NAMES, mask_of, tiles_of
from ludory.envs.texas42.worlds import Knowledge, Worlds
from ludory.errors import OptionError


def question_of_row(row):
    """The mover's question."""
    unseen = mask_of(row["unseen"])
    may = [unseen & ~mask_of(t for s in voids for t in tiles_of(int(FOLLOW[row["decl"], s]))) for voids in row["voids"]]
    known = Knowledge(mask_of(row["hand"]), unseen, tuple(row["sizes"]), tuple(may))
    trick = tuple(row["trick"])
    public = row["to_move"], row["decl"], row["leader"], trick, 30, 0, row["team0_points"]
    return Question(known, *public, mask_of(row["legal"]), 0)


@pytest.mark.slow
def test_expected_values_over_all_worlds():
    solver = Solver()
    for k, row in enumerate(load("expected_q.json")):
        question = question_of_row(row)
        worlds = Worlds(question.known)
        assert worlds.count == row["worlds"]
        held = question.worlds(worlds.all())
        q = question.side * solver.q_values(held)[1][:, row["legal"]].astype(int)
        assert q.sum(axis=0).tolist() == row["q_sum"]
        assert (q**2).sum(axis=0).tolist() == row["q_square_sum"]
        left = 42 - row["team0_points"] - row["team1_points"]
        final = row["team0_points"] + (left + question.side * q) / 2
        made = [[int((final[:, a] >= bid).sum()) for bid in range(30, 43)] for a in range(len(row["legal"]))]
        assert made == row["made"]
        if k % 4 == 0:
            for bid in (30, 33, 42):
                after = solver.make_after(held, bid, row["team0_points"]).sum(axis=0)
                assert after[row["legal"]].tolist() == [counts[bid - 30] for counts in row["made"]]


# --- Players --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def play():
    return make_game("Texas42Play-v0", reward="make")


def decide(agent, game, **options):
    engine = ludory.make_engine(game, num_games=1, seed=1)
    engine.reset(options=options)
    return agent.decide(Seat(engine, int(engine.to_move[0]), 0), None)


@pytest.mark.slow
def test_pimc_takes_the_chance_to_make_before_points(play):
    """Late in a hand all worlds are solved: the tile is the one with most worlds made, then with the best mean."""
    agent = make_agent("texas42/pimc(worlds=5000)", play)
    engine = ludory.make_engine(play, num_games=40, seed=3)
    engine.reset(options={"decl": 5})
    generator, solver, compared = np.random.default_rng(2), Solver(), 0
    for ply in range(28):
        if ply in (17, 21, 22, 24):
            for row in range(0, 40, 4):
                seat = int(engine.to_move[row])
                legal = np.flatnonzero(engine.legal()[row])
                question = question_of(engine.state, row, engine.legal()[row], 0)
                worlds = Worlds(question.known)
                if worlds.count > 5000 or len(legal) == 1:
                    continue
                held = question.worlds(worlds.all())
                q = question.side * solver.q_values(held)[1][:, legal].astype(int)
                made = solver.make_after(held, 30, question.banked)[:, legal]
                wanted = made if seat % 2 == 0 else ~made
                best = max(range(len(legal)), key=lambda a: (wanted[:, a].sum(), q[:, a].sum(), -legal[a]))
                assert agent.decide(Seat(engine, seat, row), None) == legal[best]
                compared += 1
        masks = engine.legal()
        engine.step(np.where(masks, generator.random(masks.shape), -1).argmax(axis=1))
    assert compared > 20


def test_pimc_repeats_and_does_not_see_hidden_hands(play):
    agent = make_agent("texas42/pimc(worlds=4, seed=7)", play)
    engine = ludory.make_engine(play, num_games=1, seed=5)
    engine.reset(options={"decl": 2})
    for _ in range(5):
        engine.step(engine.legal().argmax(axis=1))
    seat = int(engine.to_move[0])
    other = engine.clone()
    other.redeal(seat, 9)
    assert (other.state.held != engine.state.held).any()
    chosen = {agent.decide(Seat(copy, seat, 0), None) for copy in (engine, engine, other)}
    assert len(chosen) == 1


def test_bids_of_thirty():
    hand = mask_of([TILE_NAMES.index(name) for name in ("6-6", "6-5", "5-5", "5-1", "3-0", "2-2", "1-1")])
    mask = np.zeros(64, bool)
    mask[[PASS, BID_30, BID_30 + 1]] = True
    assert bid_thirty(mask, hand) == BID_30
    mask[BID_30] = False
    assert bid_thirty(mask, hand) == PASS
    mask[:] = False
    mask[DECLARE_0 : DECLARE_0 + 8] = True
    assert bid_thirty(mask, hand) == DECLARE_0 + 5


@pytest.mark.slow
def test_the_seer_wins_against_random_and_pimc_against_random(play):
    for name, games in (("texas42/seer", 60), ("texas42/pimc(worlds=3)", 16)):
        forward = ludory.evaluate([name, "random", name, "random"], game=play, games=games, seed=3)
        backward = ludory.evaluate(["random", name, "random", name], game=play, games=games, seed=3)
        made, defended = (forward.mean[0] + 1) / 2, (backward.mean[0] + 1) / 2
        assert made > defended + 0.25, (name, made, defended)


@pytest.mark.slow
def test_whole_hands_with_nello_and_plunge_are_played():
    game = make_game("Texas42-v0", nello=("high", "low"), plunge=4, splash=True, sevens=True)
    agents = ["texas42/pimc(worlds=2)", "random", "texas42/seer", "texas42/bid30(play='random')"]
    result = ludory.evaluate(agents, game=game, games=12, seed=1)
    assert np.allclose(result.returns.sum(axis=1), 0)
    assert (result.returns != 0).any()


def test_agents_refuse_what_they_can_not_play():
    with pytest.raises(OptionError, match="plays Texas 42 only"):
        make_agent("texas42/seer", "HanabiTiny2P-v0")
    with pytest.raises(OptionError, match="has no auction"):
        make_agent("texas42/bid30", "Texas42Play-v0")
    with pytest.raises(OptionError, match="worlds=0"):
        make_agent("texas42/pimc(worlds=0)", "Texas42-v0")
