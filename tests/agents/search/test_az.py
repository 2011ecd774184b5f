"""Tree search with a network: it finds what minimax finds, its targets are those of the paper, and a batch is many single games."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

import ludory
from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.agents.search.az import NetworkSearch, NetworkSearchAgent, visit_schedule
from ludory.envs.make import make_engine, make_game
from ludory.errors import OptionError

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def network(game, hidden=(16,)):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_policy(PolicySpec("mlp", {"hidden": hidden}), game.facts)


@cache
def worth(board: tuple[int, ...], mover: int) -> int:
    """Minimax value of tic-tac-toe for the seat to move, whose marks are mover + 1."""
    if any(all(board[square] == 2 - mover for square in line) for line in LINES):
        return -1
    return max((-worth(after, 1 - mover) for _, after in moves(board, mover)), default=0)


def moves(board: tuple[int, ...], mover: int):
    return [(s, (*board[:s], mover + 1, *board[s + 1 :])) for s in range(9) if board[s] == 0]


def reachable():
    """Boards and movers of positions that are not over, in a fixed order."""
    found, layer = [], {((0,) * 9, 0)}
    while layer:
        going_on = [
            (board, mover)
            for board, mover in sorted(layer)
            if moves(board, mover) and not any(all(board[square] == 2 - mover for square in line) for line in LINES)
        ]
        found += going_on
        layer = {(after, 1 - mover) for board, mover in going_on for _, after in moves(board, mover)}
    return found


def winning_moves(board: tuple[int, ...], mover: int):
    return [square for square, after in moves(board, mover) if worth(after, 1 - mover) == -1]


def engine_at(positions):
    engine = make_engine("TicTacToe-v0", len(positions), seed=1)
    engine.reset()
    fields = {name: np.copy(values) for name, values in engine.fields().items()}
    boards, movers = map(np.array, zip(*positions, strict=True))
    fields["board"][:], fields["to_move"][:] = boards, movers
    engine.load_fields(fields)
    return engine


@pytest.mark.slow
def test_it_finds_single_winning_moves_of_tic_tac_toe_without_having_learnt():
    positions = [position for position in reachable() if len(winning_moves(*position)) == 1][::5]
    assert len(positions) > 300
    engine = engine_at(positions)
    search = NetworkSearch(engine.game, network(engine.game), 2000, value_scale=0.1)
    found = search.search(engine, np.arange(len(positions)))
    assert found.actions.tolist() == [winning_moves(*position)[0] for position in positions]
    assert (found.counts.sum(axis=1) == 2000).all()


@pytest.mark.slow
def test_late_positions_are_solved():
    positions = [(board, mover) for board, mover in reachable() if board.count(0) <= 4][::4]
    assert {worth(*position) for position in positions} == {-1, 0, 1}
    engine = engine_at(positions)
    noise = np.random.default_rng(1).gumbel(size=(len(positions), 9))
    # the values of a network that has learnt nothing count little beside its logits
    found = NetworkSearch(engine.game, network(engine.game), 300).search(engine, np.arange(len(positions)), noise)
    assert found.values.tolist() == [worth(*position) for position in positions]
    reached = [dict(moves(*position))[action] for position, action in zip(positions, found.actions, strict=True)]
    assert [-worth(after, 1 - mover) for after, (_, mover) in zip(reached, positions, strict=True)] == [
        worth(*position) for position in positions
    ]


@pytest.mark.plain
def test_the_first_simulation_and_the_target_are_those_of_the_paper():
    """Equations 8, 10 and 11 with one simulation, worked out here: the best logit is visited, all others get the mixed value."""
    engine = make_engine("TicTacToe-v0", 1, seed=1)
    engine.reset()
    policy = network(engine.game)
    found = NetworkSearch(engine.game, policy, 1, value_scale=0.5).search(engine, np.array([0]))

    def ask():
        output = policy(torch.from_numpy(engine.observe(packed=True)))
        return output.logits[0].detach().double().numpy(), float(output.values[0].detach())

    logits, value = ask()
    best = int(logits.argmax())
    engine.step([best])
    q = -ask()[1]
    # v_mix of one visited action: its value counts as often as it was visited
    completed = np.where(np.arange(9) == best, q, (value + q) / 2)
    scores = logits + (50 + 1) * 0.5 / 2 * completed
    expected = np.exp(scores - scores.max())
    assert found.actions.tolist() == [best]
    assert found.counts[0].tolist() == [int(a == best) for a in range(9)]
    np.testing.assert_allclose(found.policies[0], expected / expected.sum(), rtol=1e-5)
    np.testing.assert_allclose(found.values[0], found.policies[0] @ completed, rtol=1e-5)


def test_sequential_halving_spends_all_simulations_on_fewer_and_fewer_actions():
    assert visit_schedule(1, 3) == [0, 1, 2]
    assert visit_schedule(4, 16) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len(visit_schedule(9, 7)) == 7


@pytest.mark.plain
def test_a_batch_is_many_single_games():
    engine = make_engine("ConnectFour-v0", 5, seed=1)
    engine.reset()
    for column in ([3, 3, 2, 0, 6], [3, 2, 2, 1, 5], [0, 0, 2, 3, 4]):
        engine.step(column)
    noise = np.random.default_rng(1).gumbel(size=(5, 7))
    search = NetworkSearch(engine.game, network(engine.game), 24)
    together = search.search(engine, np.arange(5), noise)
    for game in range(5):
        alone = search.search(engine, np.array([game]), noise[[game]])
        assert (together.counts[game] == alone.counts[0]).all()
        assert together.actions[game] == alone.actions[0]
        np.testing.assert_allclose(together.policies[game], alone.policies[0], rtol=1e-4)


def test_illegal_actions_are_never_tried():
    engine = make_engine("ConnectFour-v0", 1, seed=1)
    engine.reset()
    for column in (3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2):  # two full columns
        engine.step([column])
    found = NetworkSearch(engine.game, network(engine.game), 50).search(engine, np.array([0]))
    assert (found.policies[0, [2, 3]] == 0).all()
    assert (found.counts[0, [2, 3]] == 0).all()
    np.testing.assert_allclose(found.policies.sum(), 1)


def test_it_searches_with_any_network_that_has_a_name():
    agent = ludory.make_agent("az(connect_four/ppo, simulations=16)", "ConnectFour-v0")
    assert isinstance(agent, NetworkSearchAgent)
    result = ludory.evaluate([agent, "random"], game="ConnectFour-v0", games=10, seed=1, rotate=True)
    assert result.mean[0] > 0.5


@pytest.mark.parametrize(
    ("id", "faults"),
    [
        ("KuhnPoker-v0", "hidden information, chance"),
        ("Arena2P-v0", "simultaneous moves, 7 heads of actions, hidden information, chance"),
        ("Hanabi2P-v0", "shared rewards, hidden information, chance"),
        ("FrozenLakeRagen1-v0", "1 seats, general rewards, chance"),
    ],
)
def test_what_it_cannot_search_is_said(id, faults):
    game = make_game(id)
    with pytest.raises(OptionError) as error:
        NetworkSearch(game, network(game), 8)
    assert f"has {faults}: take" in str(error.value)
    assert "take ppo or vtrace" in str(error.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("az(mcts)", r"mcts\(1000\) is none"),
        ("az(tic_tac_toe/ppo, simulations=0)", "simulations=0: must be an integer of at least 1"),
        ("az(tic_tac_toe/ppo, considered=1)", "considered=1: must be an integer of at least 2"),
        ("az(tic_tac_toe/ppo, value_scale=0)", "value_scale=0: must be greater than 0"),
    ],
)
def test_wrong_options_are_refused(spec, message):
    with pytest.raises(OptionError, match=message):
        ludory.make_agent(spec, "TicTacToe-v0")
