"""AlphaZero-style training: it learns tic-tac-toe, resumes exactly, fills in results, and says which games it cannot learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ludory
from ludory.algorithms.az import AZ
from ludory.algorithms.az_self_play import LearntPositions
from ludory.errors import OptionError

pytestmark = pytest.mark.plain

SMALL = {"num_envs": 8, "n_steps": 8, "simulations": 8, "batch_size": 32, "buffer_size": 500, "hidden": (16,)}


def positions(rewards, ended):
    """One game a column, from what seat 0 is paid."""
    rows = torch.tensor(rewards, dtype=torch.float32)
    empty = torch.zeros(*rows.shape, 1)
    missing = torch.full_like(rows, torch.nan)
    return LearntPositions(
        empty, empty, empty, rows, torch.zeros(rows.shape), rows, torch.tensor(ended, dtype=torch.bool), missing
    )


def test_results_are_what_seat_0_gets_from_a_position_on():
    # two games in the first column, of which the second goes on; in the second column a game that is paid twice
    replay = positions([[0, 0], [1, 0.5], [0, -1], [0, 0]], [[0, 0], [1, 0], [0, 1], [0, 0]])
    replay.settle()
    nan = np.nan
    np.testing.assert_equal(replay.results.numpy(), np.array([[1, -0.5], [1, -0.5], [nan, -1], [nan, nan]], np.float32))


def test_a_game_that_ends_later_is_settled_later_and_old_rows_leave():
    first = positions([[0], [0]], [[0], [0]])
    first.settle()
    assert first.results.isnan().all()
    replay = first.then(positions([[-1], [0]], [[1], [0]]), most=3)
    replay.settle()
    np.testing.assert_equal(replay.results.numpy()[:, 0], np.array([-1, -1, np.nan], np.float32))


@pytest.mark.slow
def test_games_begin_after_as_many_random_moves_as_are_asked_for():
    options = SMALL | {"num_envs": 64, "n_steps": 1, "buffer_size": 600}
    seen = AZ("auto", "TicTacToe-v0", seed=1, random_moves=4, **options).learn(64).replay.observations
    # two planes of nine cells, packed
    assert set(np.unpackbits(seen[0].numpy(), axis=1).sum(1)) == set(range(5))
    # nine moves end the game, so that all begin within it
    assert AZ("auto", "TicTacToe-v0", seed=1, random_moves=20, **options).learn(256).num_timesteps == 256


def test_the_search_knows_the_result_of_moves_that_win():
    replay = AZ("auto", "TicTacToe-v0", seed=1, **SMALL | {"simulations": 16}).learn(256).replay
    won = replay.ended & (replay.rewards != 0)
    assert won.sum() > 10
    assert torch.equal(replay.values[won], replay.results[won])
    assert set(replay.seats[won].tolist()) == {0, 1}


@pytest.mark.parametrize(("weight", "loss"), [(0.0, 1.0), (0.5, 0.25), (1.0, 0.0)])
def test_the_value_learns_the_result_mixed_with_what_the_search_found(weight, loss):
    model = AZ("auto", "TicTacToe-v0", seed=1, searched_value=weight, **SMALL).learn(64)
    for parameter in model.policy.parameters():
        torch.nn.init.zeros_(parameter)
    row = LearntPositions(*(column[:1, 0] for column in model.replay))
    row = row._replace(seats=torch.tensor([1]), results=torch.ones(1), values=torch.zeros(1))
    assert model._step(row)[1].item() == pytest.approx(loss)


@pytest.mark.slow
def test_it_learns_not_to_lose_at_tic_tac_toe():
    options = {"num_envs": 64, "n_steps": 16, "simulations": 16, "batch_size": 256, "buffer_size": 20_000}
    model = AZ("mlp", "TicTacToe-v0", seed=1, hidden=(128, 128), learning_rate=2e-3, **options).learn(80_000)
    policy, searching = (
        ludory.evaluate([agent, "random"], game="TicTacToe-v0", games=500, seed=1, rotate=True)
        for agent in (model.as_agent(), model.as_agent(simulations=32))
    )
    # sums are rounded differently on other machines, which the network alone shows
    assert policy.mean[0] > 0.6
    assert (searching.returns[:, 0] >= 0).all()
    assert searching.mean[0] > 0.75


@pytest.mark.slow
def test_a_resumed_run_reaches_the_same_weights(tmp_path):
    straight = AZ("auto", "TicTacToe-v0", seed=3, **SMALL).learn(8 * 64)
    half = AZ("auto", "TicTacToe-v0", seed=3, **SMALL)
    stops = iter([True] * (4 * 8) + [False])

    def stop(_locals, _globals):
        if not next(stops, False):
            half.stop()
        return True

    half.learn(8 * 64, callback=stop)
    assert 0 < half.num_timesteps < 8 * 64
    half.save(tmp_path / "half.ludory")
    resumed = AZ.load(tmp_path / "half.ludory")
    resumed.learn(8 * 64 - resumed.num_timesteps, reset_num_timesteps=False)
    assert resumed.num_timesteps == straight.num_timesteps
    for name, weights in straight.policy.state_dict().items():
        assert torch.equal(weights, resumed.policy.state_dict()[name]), name
    assert torch.equal(straight.replay.policies, resumed.replay.policies)


def test_what_is_saved_plays_alike(tmp_path):
    model = AZ("auto", "TicTacToe-v0", seed=2, **SMALL).learn(64)
    model.save(tmp_path / "model.ludory")
    seen, mask = np.zeros((4, 2, 3, 3), np.uint8), np.ones((4, 9), bool)
    loaded = ludory.load(tmp_path / "model.ludory")
    mine, its = (one.predict(seen, deterministic=True, action_masks=mask)[0] for one in (model, loaded))
    assert (mine == its).all()
    agent = ludory.make_agent(f"{tmp_path / 'model.ludory'}(simulations=4)", "TicTacToe-v0")
    assert agent.name == "az(az-v1, 4)"
    assert ludory.make_agent(f"az({tmp_path / 'model.ludory'}, simulations=4)", "TicTacToe-v0").deterministic


def test_planes_are_learnt_by_convolutions_unless_layers_are_asked_for():
    assert AZ("auto", "TicTacToe-v0").policy_spec.id == "conv"
    assert AZ("auto", "TicTacToe-v0", hidden=(8,)).policy_spec.id == "mlp"


@pytest.mark.parametrize("id", ["LeducPoker-v0", "Arena2P-v0", "Hanabi2P-v0", "FrozenLakeFirm-v0", "Texas42-v0"])
def test_games_that_a_tree_cannot_search_are_refused(id):
    with pytest.raises(OptionError, match="take ppo or vtrace"):
        AZ("auto", id)


def test_a_replay_that_holds_no_whole_game_is_refused():
    with pytest.raises(
        OptionError, match="buffer_size=1000: 128 games of TicTacToe-v0, of up to 9 moves, do not fit; take 1152"
    ):
        AZ("auto", "TicTacToe-v0", buffer_size=1000)
