"""What callbacks and scripts written for Stable-Baselines3 read of a model, ask of it, and hand to it."""

from __future__ import annotations

import io
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest
import torch
from games.nim import matching
from stable_baselines3.common.callbacks import BaseCallback

import ludory
from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.algorithms.sampling.step_locals import StepLocals
from ludory.cluster.workers import InProcess
from ludory.errors import LudoryError, OptionError

TINY, TABLE = "HanabiTiny2P-v0", "TicTacToe-v0"
SMALL: dict[str, Any] = {"num_envs": 8, "n_steps": 8, "hidden": (8,), "seed": 0}
kinds = pytest.mark.parametrize("algorithm", ["ppo", "vtrace", "sb3_ppo"])


def made(algorithm: str, env: Any = TINY, **options: Any) -> Any:
    return ludory.make_algorithm(algorithm, env=env, **SMALL | options)


class Kept(BaseCallback):
    """Keeps `locals` of every step."""

    def _on_training_start(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        self.steps.append({**self.locals})
        return True


def kept(model: Any, timesteps: int) -> list[dict[str, Any]]:
    callback = Kept()
    model.learn(timesteps, callback=[callback])
    return callback.steps


@kinds
def test_callbacks_read_infos_rewards_actions_and_observations(algorithm: str) -> None:
    model = made(algorithm)
    steps = kept(model, 128)
    assert len(steps) == 16
    returns, lengths, ended = np.zeros(8), np.zeros(8, int), []
    for step in steps:
        assert (step["rewards"].shape, step["rewards"].dtype) == ((8,), np.float32)
        assert (step["actions"].shape, step["new_obs"].shape) == ((8,), (8, *model.observation_space.shape))
        assert all(model.observation_space.contains(seen) for seen in step["new_obs"])
        returns, lengths = returns + step["rewards"], lengths + 1
        for row, (info, done) in enumerate(zip(step["infos"], step["dones"], strict=True)):
            assert ("episode" in info) == ("terminal_observation" in info) == bool(done)
            if done:
                ended.append(info["episode"])
                assert (info["episode"]["r"], info["episode"]["l"]) == (returns[row], lengths[row])
                assert model.observation_space.contains(info["terminal_observation"])
                assert not info["TimeLimit.truncated"]
                returns[row] = lengths[row] = 0
    assert ended
    assert type(model.ep_info_buffer) is deque
    assert model.ep_info_buffer.maxlen == 100
    assert sorted(one["r"] for one in model.ep_info_buffer) == sorted(one["r"] for one in ended)


def test_the_infos_of_rows_are_dicts_of_their_own() -> None:
    infos = kept(made("ppo"), 64)[0]["infos"]
    assert len({id(info) for info in infos}) == 8


def test_terminal_observations_are_of_the_game_that_ended() -> None:
    """In tic-tac-toe an empty board is seen at the start of a game only."""
    for step in kept(made("ppo", TABLE, seats="0", others="random"), 128):
        for seen, info, done in zip(step["new_obs"], step["infos"], step["dones"], strict=True):
            if done:
                assert info["terminal_observation"].sum() >= 5
                assert seen.sum() <= 1


def test_every_seat_of_a_simultaneous_game_is_an_entry_of_the_second_axis() -> None:
    model = made("ppo", matching())
    step = kept(model, 64)[0]
    seats = model.game.facts.players
    assert step["rewards"].shape == step["dones"].shape == (8,)
    assert step["new_obs"].shape == (8, seats, *model.observation_space.shape)
    assert step["actions"].shape[:2] == (8, seats)


def test_a_step_is_prepared_for_callbacks_that_read_it_only(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(StepLocals, "made", lambda self, *given: calls.append(given) or {})
    monkeypatch.setattr(StepLocals, "before_restart", lambda self, ended: calls.append(ended))
    model = made("ppo")
    model.learn(256)
    train_to_file(model, 512, tmp_path / "model.ludory")
    assert not calls
    model.learn(64, callback=Kept(), reset_num_timesteps=False)
    assert len(calls) >= 8


def test_games_of_workers_say_where_games_ended() -> None:
    alone, spread = made("ppo"), made("ppo").sample_at(InProcess(), 2)
    for here, there in zip(kept(alone, 128), kept(spread, 128), strict=True):
        assert (here["dones"] == there["dones"]).all()
        for one, other in zip(here["infos"], there["infos"], strict=True):
            assert {k: v for k, v in one.get("episode", {}).items() if k != "t"} == {
                k: v for k, v in other.get("episode", {}).items() if k != "t"
            }
    assert [one["r"] for one in alone.ep_info_buffer] == [one["r"] for one in spread.ep_info_buffer]


@kinds
def test_spaces_and_the_number_of_games_are_those_of_its_vec_env(algorithm: str) -> None:
    model = made(algorithm)
    env = model.get_env()
    assert (model.observation_space, model.action_space, model.n_envs) == (env.observation_space, env.action_space, 8)


@kinds
def test_parameters_go_from_one_model_to_another(algorithm: str, tmp_path: Any) -> None:
    first, second, third = made(algorithm).learn(64), made(algorithm, seed=1), made(algorithm, seed=2)
    first.save(tmp_path / "first.ludory")
    second.set_parameters(first.get_parameters())
    third.set_parameters(tmp_path / "first.ludory")
    for model in (second, third):
        for name, weight in first.policy.state_dict().items():
            assert weight.equal(model.policy.state_dict()[name])
        assert model.learn(64).num_timesteps == 64
    assert {"policy", "policy.optimizer"} <= set(first.get_parameters())
    with pytest.raises(OptionError, match=r"must be 'policy', 'policy\.optimizer': 'policy\.optimizer' differ"):
        second.set_parameters({"policy": first.get_parameters()["policy"]})
    with pytest.raises(OptionError, match="'policy' is of another network"):
        second.set_parameters(made(algorithm, hidden=(4,)).get_parameters())


@kinds
def test_a_model_learns_other_games_of_the_same_shape(algorithm: str) -> None:
    model = made(algorithm).learn(64)
    weights = torch.cat([part.flatten() for part in model.policy.parameters()]).clone()
    kind = ludory.make_game(TINY, bomb="keep")
    model.set_env(kind)
    assert model.game == kind
    assert model.get_env().vector_env.game == kind
    assert torch.cat([part.flatten() for part in model.policy.parameters()]).equal(weights)
    assert model.learn(64, reset_num_timesteps=False).num_timesteps == 128
    model.set_env(model.get_env())
    assert model.game == kind
    with pytest.raises(OptionError, match=r"set_env: TicTacToe-v0 has another facts\.observation"):
        model.set_env(TABLE)
    with pytest.raises(OptionError, match="its games cannot be replaced"):
        ludory.make_algorithm("cfr", env="KuhnPoker-v0").set_env("KuhnPoker-v0")


def test_predict_without_masks_warns_once_of_each_model_in_games_with_illegal_actions() -> None:
    def warned(model: Any) -> list[str]:
        seen = np.zeros((2, *model.observation_space.shape), np.uint8)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            model.predict(seen, action_masks=np.ones((2, model.game.facts.num_actions)))
            assert not found
            model.predict(seen)
            model.predict(seen)
        return [str(one.message) for one in found]

    for env in (TINY, TABLE, TINY):  # in tic-tac-toe every first move is legal
        (text,) = warned(made("ppo", env))
        assert "action_masks=" in text
        assert "MaskableEvalCallback" in text
    assert warned(made("ppo", "KuhnPoker-v0")) == [], "every action is legal"


@pytest.mark.parametrize(
    ("masks", "said"),
    [
        (np.ones(8), r"action_masks has shape \(8,\), must be \(9,\) or \(1, 9\)"),
        (np.ones((3, 3)), r"action_masks has shape \(3, 3\), must be \(9,\) or \(1, 9\)"),
        (np.zeros(9), "no legal action in row 0"),
    ],
)
def test_masks_that_cannot_be_are_refused(masks: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        made("ppo", TABLE).predict(np.zeros((2, 3, 3), np.uint8), action_masks=masks)


def test_masks_of_a_batch_have_a_row_each() -> None:
    model, seen = made("ppo", TABLE), np.zeros((2, 2, 3, 3), np.uint8)
    with pytest.raises(OptionError, match=r"action_masks has shape \(9,\), must be \(2, 9\)"):
        model.predict(seen, action_masks=np.ones(9))
    with pytest.raises(OptionError, match="no legal action in row 1"):
        model.predict(seen, action_masks=[[1] * 9, [0] * 9])
    assert (model.predict(seen, action_masks=[[0] * 8 + [1], [1] + [0] * 8])[0] == [8, 0]).all()


def test_a_state_may_be_an_array_as_in_sb3() -> None:
    model = PPO("gru(memory_size=4)", TINY, **SMALL)
    seen, masks, starts = np.zeros((2, 91), np.uint8), np.ones((2, 8)), np.array([True, False])
    _, memory = model.predict(seen, action_masks=masks)
    _, tensor = model.predict(seen, state=memory, episode_start=starts, action_masks=masks)
    _, array = model.predict(seen, state=memory.numpy(), episode_start=starts, action_masks=masks)
    assert tensor.equal(array)


@pytest.mark.parametrize("algorithm", ["ppo", "cfr", "league"])
def test_open_files_are_refused_by_name(algorithm: str, tmp_path: Any) -> None:
    model = ludory.make_algorithm(algorithm, env="KuhnPoker-v0")
    with (tmp_path / "open.ludory").open("wb") as file:
        for given in (io.BytesIO(), file):
            with pytest.raises(OptionError, match="must be a path, such as"):
                model.save(given)
    with pytest.raises(LudoryError, match="must be a path, such as"):
        type(model).load(io.BytesIO())


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("ppo", "target_kl"),
        ("ppo", "final_learning_rate"),
        ("ppo", "final_ent_coef"),
        ("ppo", "final_kl_coef"),
        ("sb3_ppo", "target_kl"),
        ("sb3_ppo", "ent_coef"),
        ("bc", "final_learning_rate"),
    ],
)
def test_negative_limits_and_weights_are_refused(algorithm: str, name: str) -> None:
    with pytest.raises(OptionError, match=f"{name}=-1: must be at least 0"):
        ludory.make_algorithm(algorithm, env=TABLE, **{name: -1})
