"""`texas42/best`: more worlds in rounds, and bids where there is an auction."""

from __future__ import annotations

import numpy as np
import pytest

import ludory
from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.contracts import standard_contracts
from ludory.agents.texas42.play import response
from ludory.agents.texas42.play.choice import question_of
from ludory.agents.texas42.play.fast_policy import WEIGHTS
from ludory.envs.make import make_game
from ludory.errors import OptionError


@pytest.fixture(scope="module")
def opening():
    game = make_game("Texas42Play-v0", reward="make")
    engine = ludory.make_engine(game, num_games=6, seed=3)
    engine.reset(options=standard_contracts(40, 6, seed=9).options)
    return engine


def _tiles(engine, spec):
    agent, games = make_agent(spec, engine.game), engine.num_games
    return agent.choose(engine, 0, np.arange(games), agent.initial_memory(games))


@pytest.mark.slow
def test_rounds_choose_as_all_worlds_would(opening, monkeypatch):
    """Tiles that are given up early are never those that all worlds would have chosen; and some are given up."""
    played = []
    made_after = response.WorldPlay.made_after

    def counted(play, worlds, tiles, key, first=0):
        played.append((len(worlds) - first) * len(tiles))
        return made_after(play, worlds, tiles, key, first)

    monkeypatch.setattr(response.WorldPlay, "made_after", counted)
    spec = "texas42/response(worlds=1024, candidates=1024, solved=4)"
    chosen, few = _tiles(opening, spec), sum(played)
    monkeypatch.setattr(response, "ROUND", 1024)
    played.clear()
    assert (_tiles(opening, spec) == chosen).all()
    assert few < 0.8 * sum(played)


@pytest.mark.slow
def test_draws_of_a_world_do_not_depend_on_its_round(opening):
    play = response.WorldPlay(opening.game, opening.state, 0, 0)
    known = question_of(opening.state, 0, opening.legal()[0], key=3)
    worlds, _ = response.believed_worlds(play, known, 60, 60)
    tiles = np.flatnonzero(opening.legal()[0])
    whole = play.made_after(worlds, tiles, 5)
    parts = play.made_after(worlds[:20], tiles, 5), play.made_after(worlds, tiles, 5, first=20)
    assert (np.concatenate(parts) == whole).all()


@pytest.mark.slow
def test_a_large_prior_plays_as_quick_does(opening):
    """The prior is the quick policy's probability, and decides alone where it outweighs all else."""
    quick = _tiles(opening, "texas42/quick")
    assert (
        _tiles(opening, "texas42/response(worlds=8, candidates=8, solved=1, share=0.0, prior=1.0)") == quick
    ).sum() >= 5
    play = response.WorldPlay(opening.game, opening.state, 0, 0)
    tiles = np.flatnonzero(opening.legal()[0])
    assert np.exp(play.log_chances(tiles, WEIGHTS)).sum() == pytest.approx(1)
    assert tiles[play.log_chances(tiles, WEIGHTS).argmax()] == quick[0]


@pytest.mark.slow
def test_it_bids_where_there_is_an_auction():
    small = "texas42/best(worlds=4, candidates=8, solved=2)"
    result = ludory.evaluate([small, "texas42/quick"] * 2, game="Texas42-v0", games=6, seed=2)
    assert np.allclose(result.returns.sum(axis=1), 0)
    game = make_game("Texas42-v0")
    engine = ludory.make_engine(game, num_games=40, seed=1)
    engine.reset()
    seats = np.asarray(engine.to_move)
    agent, bids = make_agent(small, game), []
    for seat in range(4):
        rows = np.flatnonzero(seats == seat)
        bids += list(agent.choose(engine, seat, rows, agent.initial_memory(40)))
    # some hands are worth a bid, others are passed: texas42/bid30, as response bids, never passes first
    assert 0 < np.count_nonzero(bids) < 40


def test_refused():
    with pytest.raises(OptionError, match=r"texas42/best plays Texas 42 only.*try Texas42-v0"):
        make_agent("texas42/best", make_game("TicTacToe-v0"))
    with pytest.raises(OptionError, match="solved=30"):
        make_agent("texas42/best(worlds=10)", make_game("Texas42Play-v0"))
    with pytest.raises(OptionError, match="prior=-1"):
        make_agent("texas42/response(prior=-1)", make_game("Texas42Play-v0"))
