"""What is handed in is what is trained: seats, opponents, limits and wrappers around a game of Ludory stay."""

from itertools import product

import gymnasium as gym
import gymnasium.wrappers.vector as vector_wrappers
import numpy as np
import pytest
from gymnasium.wrappers import FrameStackObservation, OrderEnforcing, PassiveEnvChecker, TransformReward
from pettingzoo.utils.wrappers import BaseWrapper, OrderEnforcingWrapper
from stable_baselines3.common.vec_env import VecFrameStack

import ludory
from ludory.algorithms.learner import game_of, needed_env, needed_game
from ludory.envs.engine.kernel_engine import few_steps
from ludory.envs.views.gymnasium_env import GameEnv, make_env
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.pettingzoo_aec import make_aec
from ludory.envs.views.sb3 import to_sb3
from ludory.errors import OptionError

SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 1}
LEARNERS = {
    "ppo": SMALL,
    "vtrace": {"n_steps": 8, "batch_columns": 3},
    "sb3_ppo": SMALL,
}


@pytest.fixture(autouse=True)
def _compile_little():
    with few_steps():
        yield


def made_with(env, config=None, names=("seats", "others", "num_envs")):
    game, fields = needed_env(env, "ppo-v1", names, config or {})
    return game.id, fields


def test_a_view_keeps_its_seat_and_its_opponent():
    env = gym.make("HanabiTiny2P-v0", seats=0, others="hanabi/iggi")
    assert made_with(env) == ("HanabiTiny2P-v0", {"seats": "0", "others": "hanabi/iggi"})
    assert made_with(make_env("TicTacToe-v0", others="random")) == ("TicTacToe-v0", {"others": "random"})
    assert made_with(make_env("TicTacToe-v0")) == ("TicTacToe-v0", {})


def test_a_vector_view_keeps_its_number_of_games_too():
    env = gym.make_vec("TicTacToe-v0", num_envs=5, seats=1)
    assert made_with(env) == ("TicTacToe-v0", {"seats": "1", "num_envs": 5})
    model = ludory.make_algorithm("ppo", env=env)
    assert (model.config.seats, model.config.num_envs, model.engine.num_games) == ("1", 5, 5)


def test_wrappers_that_change_nothing_are_looked_through():
    assert made_with(PassiveEnvChecker(OrderEnforcing(make_env("TicTacToe-v0", seats=1)))) == (
        "TicTacToe-v0",
        {"seats": "1"},
    )
    assert game_of(OrderEnforcingWrapper(make_aec("TicTacToe-v0"))).id == "TicTacToe-v0"
    assert game_of(make_aec("Arena2P-v0")).id == "Arena2P-v0"


def test_a_config_that_contradicts_its_environment_is_refused_and_one_that_agrees_is_not():
    env = make_env("TicTacToe-v0", seats=1, others="random")
    with pytest.raises(OptionError, match=r"made with seats='1', others='random', got seats='all'.*env='TicTacToe-v0'"):
        ludory.make_algorithm("ppo", env=env, seats="all")
    with pytest.raises(OptionError, match="num_envs=2, got num_envs=64"):
        ludory.make_algorithm("ppo", env=make_vector_env("TicTacToe-v0", 2), num_envs=64)
    assert made_with(env, {"seats": 1})[1]["seats"] == "1"


@pytest.mark.parametrize("id", ["league", "cfr", pytest.param("bc", marks=pytest.mark.slow)])
def test_a_learner_without_seats_refuses_an_environment_that_has_some(id):
    with pytest.raises(
        OptionError, match=r"made with seats='1', and \w+-v1 has no option seats; type env='TicTacToe-v0'"
    ):
        ludory.make_algorithm(id, env=make_env("TicTacToe-v0", seats=1))


def _stacked():
    return FrameStackObservation(make_env("TicTacToe-v0"), 2)


class Doubled(GameEnv):
    """A view with another reward."""

    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, 2 * reward, *rest


WRAPPED = {
    "limit": (lambda: gym.make("SokobanGym-v0", max_episode_steps=5), 1),
    "reward": (lambda: TransformReward(make_env("TicTacToe-v0"), lambda reward: 100 * reward), 1),
    "stack": (_stacked, 1),
    "subclass": (lambda: Doubled(ludory.make_game("TicTacToe-v0")), 1),
    "opponent without a name": (lambda: make_env("TicTacToe-v0", seats=1, others=_first()), 1),
    "vector": (
        lambda: vector_wrappers.TransformReward(make_vector_env("TicTacToe-v0", 3), lambda reward: 2 * reward),
        3,
    ),
    "vector, next step": (
        lambda: vector_wrappers.TransformReward(
            make_vector_env("TicTacToe-v0", 3, autoreset_mode="NextStep"), lambda reward: 2 * reward
        ),
        3,
    ),
    "sync": (lambda: gym.make_vec("TicTacToe-v0", num_envs=3, vectorization_mode="sync"), 3),
    "SB3": (lambda: VecFrameStack(to_sb3(make_vector_env("TicTacToe-v0", 3)), 2), 3),
}


def _first():
    return ludory.make_agent("random", game=ludory.make_game("TicTacToe-v0"))


@pytest.mark.plain
@pytest.mark.parametrize("kind", WRAPPED)
def test_what_is_around_a_view_is_played_and_its_masks_are_found(kind):
    make, count = WRAPPED[kind]
    env = make()
    game = game_of(env)
    assert (game.id, game.facts.players, game.rules.engine.num_envs) == ("", 1, count)
    space = getattr(env, "single_observation_space", env.observation_space)
    assert game.facts.observation.shape == space.shape
    engine = ludory.make_engine(game, count, seed=1)
    engine.reset()
    generator, played, fewer = np.random.default_rng(1), 0, False
    while played < 40:
        masks = engine.legal()
        fewer |= not masks.all()
        engine.step(np.array([generator.choice(np.flatnonzero(mask)) for mask in masks]))
        engine.reset(np.flatnonzero(engine.over))
        played += 1
    assert fewer or kind == "limit", "some actions are illegal in Tic-tac-toe, as its masks say"


@pytest.mark.plain
def test_a_limit_around_a_view_cuts_its_games():
    engine = ludory.make_engine(game_of(WRAPPED["limit"][0]()), 1, seed=1)
    engine.reset()
    for _ in range(5):
        engine.step(np.array([0]))
    assert engine.truncated.tolist() == [True]


def test_a_reward_around_a_view_is_the_reward():
    engine = ludory.make_engine(game_of(WRAPPED["reward"][0]()), 1, seed=1)
    engine.reset()
    total, generator = 0.0, np.random.default_rng(0)
    for _ in range(60):
        engine.step(np.array([generator.choice(np.flatnonzero(engine.legal()[0]))]))
        total += abs(float(engine.rewards[0, 0]))
        engine.reset(np.flatnonzero(engine.over))
    assert total >= 100


def test_a_wrapped_agents_game_is_played_in_its_wrapper():
    class Loud(BaseWrapper):
        """Any other wrapper of PettingZoo."""

    game = game_of(Loud(make_aec("TicTacToe-v0")))
    assert (game.id, game.facts.players) == ("", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "kind"), [*(("ppo", kind) for kind in WRAPPED), *product(("vtrace", "sb3_ppo"), ("limit", "vector"))]
)
def test_every_learner_takes_it_as_it_is(learner, kind):
    make, count = WRAPPED[kind]
    model = ludory.make_algorithm(learner, env=make(), **LEARNERS[learner])
    assert model.config.num_envs == count
    model.learn(200)
    assert model.num_timesteps >= 200


class Pong(gym.Env):
    """An environment that calls its own thing `game`."""

    observation_space, action_space = gym.spaces.Box(0, 1, (7,)), gym.spaces.Discrete(3)

    def __init__(self, game):
        self.game = game

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(7, np.float32), {}

    def step(self, action):
        return np.zeros(7, np.float32), 0.0, True, False, {}


@pytest.mark.parametrize("game", ["pong", "TicTacToe-v0", ludory.make_game("TicTacToe-v0")], ids=["name", "id", "game"])
def test_an_attribute_game_of_somebody_elses_environment_means_nothing(game):
    found = needed_game(Pong(game), "ppo-v1")
    assert (found.name, found.facts.observation.shape) == ("Pong", (7,))
