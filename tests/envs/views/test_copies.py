"""Copies of environments, engines, agents and learners are independent and go on as the original does."""

from __future__ import annotations

import copy
import dataclasses
import multiprocessing
import pickle

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import set_random_seed

import ludory
from ludory.algorithms.learner import game_of
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_engine, make_game
from ludory.envs.parts import Look
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.pettingzoo_parallel import make_parallel
from ludory.envs.views.sb3 import to_sb3
from ludory.errors import OptionError

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda original: pickle.loads(pickle.dumps(original)),
    "cloudpickle": lambda original: cloudpickle.loads(cloudpickle.dumps(original)),
}
SMALL = {"num_envs": 16, "n_steps": 8, "seed": 1}


@pytest.fixture(params=WAYS)
def copied(request):
    return WAYS[request.param]


def test_a_copied_engine_starts_the_games_of_the_original(copied):
    engine = make_engine("TicTacToe-v0", 2, seed=1)
    other = copied(engine)
    other.reset()
    assert other.to_move.tolist() == [0, 0]
    assert engine.to_move.tolist() == [-1, -1]
    engine.reset()
    other.step([4, 4])
    assert engine.legal()[:, 4].all()


def test_a_copied_engine_keeps_its_place_in_the_sequence_of_games(copied):
    engine = make_engine("HanabiTiny2P-v0", 3, seed=5, first_game=7)
    engine.reset()
    other = copied(engine)
    for one in (engine, other):
        one.reset(seed=9)
    assert (engine.observe() == other.observe()).all()
    assert (other.seed, other.threads, type(other)) == (9, engine.threads, KernelEngine)


def test_what_gym_makes_is_copied_at_every_moment_of_a_game():
    for name, copied in WAYS.items():
        if name == "copy":
            continue  # a wrapper of Gymnasium, whose copy shares what it wraps
        env = gym.make("TicTacToe-v0")
        for action in (None, 0, 4):
            env.reset(seed=1) if action is None else env.step(action)
            other = copied(env)
            assert other.unwrapped.engine is not env.unwrapped.engine
        for one in (env, other):
            one.unwrapped.engine.state.random[:] = 5  # of the player opposite
        legal = int(env.unwrapped.action_masks().argmax())
        shown, theirs = env.step(legal), other.step(legal)
        assert (shown[0] == theirs[0]).all()
        assert (shown[4]["action_mask"] == theirs[4]["action_mask"]).all()


def test_a_copied_environment_that_was_not_started_starts(copied):
    env = copied(gym.make("HanabiTiny2P-v0").unwrapped)
    observation, _ = env.reset(seed=1)
    assert (observation == gym.make("HanabiTiny2P-v0").reset(seed=1)[0]).all()


@pytest.mark.plain
@pytest.mark.parametrize(
    ("game", "make"), [("Arena2P-v0", make_aec), ("Arena2P-v0", make_parallel), ("KuhnPoker-v0", make_aec)]
)
def test_steps_of_a_copy_leave_the_agents_of_the_original_where_they_are(game, make, copied):
    env = make(game)
    env.reset(seed=1)
    before = env.state().copy()
    other = copied(env)
    for _ in range(2):
        space = env.action_space(env.possible_agents[0])
        actions = {agent: np.zeros(space.shape, np.int64) for agent in env.agents}
        other.step(actions if make is make_parallel else actions[other.agent_selection])
    assert (other.state() != before).any()
    assert (env.state() == before).all()


def _first_observation(env, pipe):
    pipe.send(env.reset(seed=3)[0])


@pytest.mark.slow
def test_an_environment_is_handed_to_a_spawned_process():
    env, context = gym.make("HanabiTiny2P-v0"), multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_first_observation, args=(env, there))
    child.start()
    there.close()  # if the child dies, that ends the wait
    assert (here.recv() == env.reset(seed=3)[0]).all()
    child.join()


def test_a_game_is_named_to_other_processes_and_one_that_was_changed_is_not():
    game = make_game("HanabiTiny2P-v0", bomb="keep")
    assert copy.deepcopy(game) is game
    assert len(pickle.dumps(game)) < 500
    assert pickle.loads(pickle.dumps(game)).options == {"bomb": "keep"}
    changed = dataclasses.replace(game, look=Look(info=lambda state, i: {"changed": True}))
    assert cloudpickle.loads(cloudpickle.dumps(changed)).look.info(None, 0) == {"changed": True}


def test_an_engine_that_cannot_be_copied_says_so():
    engine = make_engine(game_of(gym.make("CartPole-v1")))
    with pytest.raises(OptionError, match="needs games that can be copied"):
        copy.deepcopy(engine)
    with pytest.raises(OptionError, match="needs games that can be saved"):
        pickle.dumps(engine)


@pytest.mark.parametrize(
    "kind", ["ppo", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("vtrace", "sb3_ppo"))]
)
def test_a_copied_learner_learns_what_the_original_learns(kind, copied):
    learner = ludory.make_algorithm(
        kind, env="HanabiTiny2P-v0", **SMALL | ({} if kind == "vtrace" else {"batch_size": 64})
    )
    learner.learn(128)
    other = copied(learner)
    assert other.num_timesteps == learner.num_timesteps
    for one in (learner, other):
        one.learn(256)
    for mine, theirs in zip(learner.policy.parameters(), other.policy.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_copied_learner_of_stable_baselines3_learns_what_the_original_learns():
    games = to_sb3(make_vector_env("HanabiTiny2P-v0", num_envs=4))
    games.seed(1)
    learner = MaskablePPO("MlpPolicy", games, n_steps=16, batch_size=16, seed=1)
    other = copy.deepcopy(learner)
    weights = []
    for one in (learner, other):
        set_random_seed(0)  # of its samples and batches
        one.learn(128)
        weights.append(torch.cat([part.flatten() for part in one.policy.parameters()]))
    assert torch.equal(*weights)
    assert other.get_env().vector_env.engine is not games.vector_env.engine


def test_a_copied_agent_plays_as_the_original(copied):
    agent = copied(ludory.make_agent("hanabi/iggi", "HanabiTiny2P-v0"))
    scores = [
        ludory.evaluate([one, one], game="HanabiTiny2P-v0", games=50, seed=1).mean for one in (agent, "hanabi/iggi")
    ]
    assert scores[0] == scores[1]
    assert not np.isnan(scores[0])
