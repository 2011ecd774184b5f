"""The Stable-Baselines3 view."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from games import nim as games
from gymnasium.vector import SyncVectorEnv
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.views.gymnasium_env import GameEnv, make_env
from ludory.envs.views.gymnasium_vector import GameVectorEnv, make_vector_env
from ludory.envs.views.sb3 import GameVecEnv, to_sb3
from ludory.errors import NotResetError, OptionError

N = 4


@pytest.fixture(scope="module")
def tiny() -> Game:
    return make_game("HanabiTiny2P-v0")


@pytest.fixture
def env(tiny: Game) -> GameVecEnv:
    return to_sb3(GameVectorEnv(tiny, N))


def scripted(env: GameVecEnv, turn: int) -> Any:
    return np.array([games.scripted(mask, turn, (8,))[0] for mask in env.action_masks()])


def test_rows_are_those_of_the_vector_environment(env: GameVecEnv, tiny: Game) -> None:
    plain = GameVectorEnv(tiny, N)
    assert env.seed(7) == [7] * N
    assert (env.reset() == plain.reset(seed=7)[0]).all()
    ends = 0
    for turn in range(50):
        actions = scripted(env, turn)
        observations, rewards, dones, infos = env.step(actions)
        expected, expected_rewards, terminated, _, info = plain.step(actions)
        assert (observations == expected).all()
        assert (rewards == expected_rewards).all()
        assert (dones == terminated).all()
        assert (env.action_masks() == info["action_mask"]).all()
        for row in range(N):
            assert bool(infos[row]) == dones[row]
            if dones[row]:
                assert (infos[row]["terminal_observation"] == info["final_obs"][row]).all()
                assert (infos[row]["returns"] == info["final_info"]["returns"][row]).all()
                ends += 1
    assert ends > N


def test_a_seed_lasts_for_one_reset(env: GameVecEnv) -> None:
    env.seed(7)
    first, second = env.reset(), env.reset()
    env.seed(7)
    assert (env.reset() == first).all()
    assert (env.reset() == second).all()
    assert (first != second).any()


def test_episodes_are_reported_as_monitor_does_and_counted_once(tiny: Game) -> None:
    env = VecMonitor(to_sb3(GameVectorEnv(tiny, N)))
    env.seed(1)
    env.reset()
    bare = to_sb3(GameVectorEnv(tiny, N))
    bare.seed(1)
    bare.reset()
    total, length = np.zeros(N), np.zeros(N)
    for turn in range(40):
        actions = scripted(bare, turn)
        _, _, _, monitored = env.step(actions)
        _, rewards, dones, infos = bare.step(actions)
        total += rewards
        length += 1
        for row in np.flatnonzero(dones):
            episode = infos[row]["episode"]
            assert (episode["r"], episode["l"]) == (total[row], length[row])
            assert (monitored[row]["episode"]["r"], monitored[row]["episode"]["l"]) == (total[row], length[row])
            assert episode["t"] >= 0
        total[dones] = length[dones] = 0
    assert env.episode_count > 0


def test_truncation_is_told_apart_from_the_end() -> None:
    env = to_sb3(GameVectorEnv(games.nim(limit=1), 2, seats=0))
    env.set_options({"heaps": [[1, 0, 0], [1, 1, 0]]})
    env.reset()
    _, _, dones, infos = env.step(np.array([0, 0]))
    assert dones.all()
    assert [info["TimeLimit.truncated"] for info in infos] == [False, True]
    assert [info["episode"]["r"] for info in infos] == [1, 0]


def test_an_illegal_action_loses_its_row(env: GameVecEnv) -> None:
    env.reset()
    actions = scripted(env, 0)
    actions[2] = 8
    _, _, dones, infos = env.step(actions)
    assert dones.tolist() == [False, False, True, False]
    assert infos[2]["episode"]["r"] == 0


def test_infos_of_one_step_are_not_those_of_another(env: GameVecEnv) -> None:
    env.reset()
    _, _, _, first = env.step(scripted(env, 0))
    first[0]["mine"] = 1
    _, _, _, second = env.step(scripted(env, 1))
    assert "mine" not in second[0]


def test_sb3_contrib_finds_the_masks(env: GameVecEnv) -> None:
    env.reset()
    assert is_masking_supported(env)
    assert (get_action_masks(env) == env.action_masks()).all()
    assert (env.env_method("action_masks", indices=[2])[0] == env.action_masks()[2]).all()
    assert (env.get_attr("action_masks", indices=3)[0]() == env.action_masks()[3]).all()


def test_attributes_are_those_of_the_vector_environment(env: GameVecEnv, tiny: Game) -> None:
    assert env.get_attr("game", indices=[0, 1]) == [tiny, tiny]
    env.set_attr("spec", "mine")
    assert env.vector_env.spec == "mine"
    with pytest.raises(OptionError, match="all rows share one environment"):
        env.set_attr("spec", "other", indices=[0])
    with pytest.raises(AttributeError, match="no method 'reset'"):
        env.env_method("reset")
    assert env.env_is_wrapped(Monitor) == [True] * N
    assert not env.has_attr("nothing")


def test_wrong_use_is_refused(env: GameVecEnv, tiny: Game) -> None:
    with pytest.raises(OptionError, match="needs 'SameStep'"):
        to_sb3(GameVectorEnv(tiny, N, autoreset_mode="NextStep"))
    with pytest.raises(OptionError, match="got a SyncVectorEnv"):
        to_sb3(SyncVectorEnv([lambda: GameEnv(tiny)]))
    with pytest.raises(OptionError, match="one dict for all rows"):
        env.set_options([{}])
    with pytest.raises(NotResetError, match="without actions"):
        env.step_wait()


@pytest.mark.parametrize(
    "game", [make_game("HanabiTiny2P-v0"), games.nim(), games.matching()], ids=["tiny", "nim", "matching"]
)
def test_maskable_ppo_learns_on_it(game: Game) -> None:
    env = to_sb3(GameVectorEnv(game, N))
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=2, policy_kwargs={"net_arch": [8]}, seed=1
    )
    before = model.policy.state_dict()["action_net.weight"].clone()
    model.learn(300)
    assert (model.policy.state_dict()["action_net.weight"] != before).any()
    assert len(model.ep_info_buffer) > 0
    mean, _ = evaluate_policy(model, env, n_eval_episodes=8, warn=True)
    assert game.facts.min_return <= mean <= game.facts.max_return


def test_make_vec_env_takes_our_ids_and_finds_the_masks() -> None:
    env = make_vec_env("HanabiTiny2P-v0", n_envs=2, seed=3, env_kwargs={"observation": "minimal"})
    spec = make_game("HanabiTiny2P-v0", observation="minimal").facts.observation
    assert env.reset().shape == (2, *spec.shape)
    assert is_masking_supported(env)
    for _ in range(30):
        masks = get_action_masks(env)
        _, _, dones, infos = env.step(masks.argmax(1))
        for row in np.flatnonzero(dones):
            assert not infos[row]["illegal_action"]
            assert infos[row]["episode"]["r"] == infos[row]["returns"][0]


def test_every_row_has_an_info_of_its_own_that_wrappers_may_write_into() -> None:
    env = to_sb3(make_vector_env("HanabiTiny2P-v0", 3))
    env.reset()
    *_, infos = env.step(env.action_masks().argmax(1))
    for row, info in enumerate(infos):
        info["row"] = row
    assert [info["row"] for info in infos] == [0, 1, 2]


@pytest.mark.parametrize("id", ["HanabiTiny2P-v0", "ludory:HanabiTiny2P-v0", "Arena2P-v0"])
def test_check_env_accepts_our_ids(id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # most of what it finds is a warning
        warnings.filterwarnings("ignore", message=".*is not legal")  # it samples actions without their mask
        check_env(gym.make(id))


@pytest.mark.parametrize("batched", [False, True], ids=["make_vec_env", "to_sb3"])
def test_vec_normalize_scales_observations_and_rewards_and_keeps_the_masks(tiny: Game, batched: bool) -> None:
    plain = to_sb3(GameVectorEnv(tiny, N)) if batched else make_vec_env("HanabiTiny2P-v0", n_envs=N)
    env = VecNormalize(plain, norm_obs_keys=None, clip_obs=5.0)
    env.seed(1)
    observations = env.reset()
    assert observations.dtype == np.float32
    for _ in range(60):
        masks = get_action_masks(env)
        assert masks.shape == (N, 8)
        observations, _, dones, infos = env.step(masks.argmax(1))
    assert np.abs(observations).max() <= 5
    assert env.obs_rms.count > 200
    assert env.ret_rms.var > 0
    assert all("terminal_observation" in infos[row] for row in np.flatnonzero(dones))
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=32, n_epochs=1, policy_kwargs={"net_arch": [8]})
    assert model.learn(128).num_timesteps == 128


@pytest.mark.parametrize("kind", [EvalCallback, MaskableEvalCallback])
def test_eval_callbacks_of_a_model_of_sb3_play_our_ids(kind: type[EvalCallback], tmp_path: Path) -> None:
    callback = kind(make_vec_env("HanabiTiny2P-v0", n_envs=2), eval_freq=32, n_eval_episodes=4, log_path=str(tmp_path))
    env = make_vec_env("HanabiTiny2P-v0", n_envs=2, seed=1)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, policy_kwargs={"net_arch": [8]})
    model.learn(128, callback=callback)
    assert np.load(tmp_path / "evaluations.npz")["results"].shape == (2, 4)
    assert 0 <= callback.best_mean_reward <= make_game("HanabiTiny2P-v0").facts.max_return


def test_an_environment_of_another_library_is_made_by_its_scheme() -> None:
    assert make_vec_env(lambda: make_env("gymnasium:CartPole-v1"), n_envs=2).reset().shape == (2, 4)
    env = VecNormalize(to_sb3(make_vector_env("gymnasium:CartPole-v1", num_envs=3)))
    assert env.reset().shape == (3, 4)
    assert env.step(np.zeros(3, np.int64))[1].shape == (3,)
