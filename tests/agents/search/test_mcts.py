"""Monte Carlo tree search: never beaten at tic-tac-toe, which is computed exactly, and stronger with more simulations."""

from __future__ import annotations

import numpy as np
import pytest

import ludory
from ludory.agents.search.mcts import MCTS
from ludory.envs.classic import make_go
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_response_at_tic_tac_toe_is_a_draw(seed):
    for seat in (0, 1):
        assert ludory.best_response(f"mcts(simulations=3000, seed={seed})", "TicTacToe-v0", seat).value == 0


@pytest.mark.slow
def test_few_simulations_can_be_beaten():
    assert ludory.best_response("mcts(simulations=20)", "TicTacToe-v0", 0).value == 1


@pytest.mark.parametrize(
    ("stones", "expected"),
    [
        ((0b0000111, 0b0000011 << 7), 0),  # three in column 1: the fourth wins
        ((0b0000011 << 7 | 1 << 28, 0b0000111), 0),  # three of the other seat in column 1: block
    ],
)
def test_it_wins_at_once_and_blocks_at_connect_four(stones, expected):
    engine = make_engine("ConnectFour-v0", seed=1)
    engine.reset()
    fields = {name: np.copy(values) for name, values in engine.fields().items()}
    fields["stones"][0] = stones
    engine.load_fields(fields)
    agent = MCTS(engine.game, simulations=500)
    found = agent.search(engine, np.array([0]), np.array([7]))
    assert found.counts.sum() == 500
    assert found.counts[0].argmax() == expected
    assert agent.choose(engine, 0, np.array([0]), agent.initial_memory(1)).tolist() == [expected]


def test_more_simulations_play_better_connect_four():
    many, few = "mcts(simulations=400)", "mcts(simulations=20)"
    result = ludory.evaluate([many, few], game="ConnectFour-v0", games=40, seed=1, rotate=True)
    assert result.mean[0] > 0.5


@pytest.mark.slow
def test_it_searches_a_game_whose_kernels_read_shared_fields():
    """The rules of Go read the size of the board from fields that all games share."""
    game = make_go(5, 2.5)
    assert game.shared_names
    result = ludory.evaluate(["mcts(simulations=50)", "random"], game=game, games=20, seed=1, rotate=True)
    assert result.mean[0] > 0.5


def test_a_move_depends_neither_on_the_batch_nor_on_the_process():
    def first_moves(games: int) -> list[int]:
        engine = make_engine("ConnectFour-v0", games, seed=1)
        engine.reset()
        agent = MCTS(engine.game, simulations=5, seed=3)
        memory = agent.start_games(0, np.arange(games))
        return agent.choose(engine, 0, np.arange(games), memory).tolist()

    assert first_moves(8)[:3] == first_moves(3)
    assert len(set(first_moves(8))) > 1


@pytest.mark.parametrize(
    ("id", "options", "message"),
    [
        ("KuhnPoker-v0", {}, "would look at what is hidden"),
        ("Arena2P-v0", {}, "seats move in turn"),
        ("FrozenLakeRagen1-v0", {}, "would know the next random numbers"),
        ("TicTacToe-v0", {"simulations": 0}, "simulations=0: must be an integer of at least 1"),
        ("TicTacToe-v0", {"exploration": 0}, "exploration=0: must be greater than 0"),
    ],
)
def test_what_it_cannot_play_is_said(id, options, message):
    with pytest.raises(OptionError, match=message):
        MCTS(make_game(id), **options)
