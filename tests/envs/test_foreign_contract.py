"""Environments of other people: where masks are found, how vectors begin their next games, and what is said of faults."""

import sys

import cloudpickle
import gymnasium as gym
import gymnasium.wrappers.vector as vector_wrappers
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import ludory
from ludory.envs.adapters.objects import game_of_object
from ludory.envs.adapters.spaces import Actions, Observations
from ludory.errors import LudoryError, OptionError, WorkerError

SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 1}


class Counted(gym.Env):
    """Five steps with a reward of 1; the observation is the number of steps."""

    observation_space, action_space = spaces.Box(0, 9, (2,), np.float64), spaces.Discrete(3)
    length = 5

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), self.info()

    def step(self, action):
        self.steps += 1
        return self.seen(), self.reward(), self.steps == self.length, False, self.info()

    def seen(self):
        return np.full(2, self.steps, np.float64)

    def reward(self):
        return 1.0

    def info(self):
        return {}


# Where masks are found.


def _with_mask(keys, space=None):
    """An environment whose observation has the keys (seen, mask); action 0 is legal, and action 2."""

    class Masked(Counted):
        observation_space = spaces.Dict({keys[0]: spaces.Box(0, 9, (2, 3)), keys[1]: space or spaces.MultiBinary(3)})

        def seen(self):
            return {keys[0]: np.full((2, 3), self.steps, np.float32), keys[1]: np.array([1, 0, 1], np.int8)}

        def step(self, action):
            assert action != 1, "an illegal action"
            return super().step(action)

    return Masked


KEYS = {
    "PettingZoo": (("observation", "action_mask"), spaces.Box(0, 1, (3,), np.int8)),
    "RLlib": (("observations", "action_mask"), spaces.Box(0.0, 1.0, (3,))),
    "Tianshou": (("obs", "mask"), None),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("count", [1, 2], ids=["one", "vector"])
def test_a_mask_in_the_observation_is_the_mask_and_is_not_seen(kind, count):
    env = _with_mask(*KEYS[kind])
    game = game_of_object(env if count == 1 else SyncVectorEnv([env] * count))
    assert game.facts.observation.shape == (2, 3)
    engine = ludory.make_engine(game, count, seed=1)
    engine.reset()
    assert engine.legal().tolist() == [[True, False, True]] * count
    engine.step(np.full(count, 2))
    assert engine.legal().tolist() == [[True, False, True]] * count
    assert engine.observe().tolist() == [[[1.0] * 3] * 2] * count


def test_a_mask_of_another_size_is_refused():
    with pytest.raises(OptionError, match=r"Masked: the observation's 'action_mask' has 4 entries.* 3 actions"):
        game_of_object(_with_mask(("observation", "action_mask"), spaces.MultiBinary(4)))


def test_a_key_mask_without_obs_is_an_observation():
    space = _with_mask(("card", "mask")).observation_space
    assert Observations(space, Actions(spaces.Discrete(3))).spec.shape == (9,)


class AtReset(Counted):
    """A mask at reset only."""

    def info(self):
        return {} if self.steps else {"action_mask": np.array([1, 0, 0], np.int8)}


@pytest.mark.parametrize("env", [AtReset, SyncVectorEnv([AtReset])], ids=["one", "vector"])
def test_a_mask_of_reset_ends_with_the_first_step_and_that_is_said(env):
    engine = ludory.make_engine(game_of_object(env), 1, seed=1)
    engine.reset()
    assert engine.legal().tolist() == [[True, False, False]]
    with pytest.warns(UserWarning, match="gives an action mask at reset and none at a step"):
        engine.step(np.array([0]))
    assert engine.legal().all()


def test_a_mask_of_another_number_of_actions_is_one_line():
    class Short(Counted):
        def info(self):
            return {"action_mask": np.ones(2, np.int8)}

    with pytest.raises(WorkerError, match="the action mask has 2 entries, must have one for each of 3 actions"):
        ludory.make_engine(game_of_object(Short)).reset()


# How vectors begin their next games.


class Own(gym.vector.VectorEnv):
    """A vector environment of its own, as Gymnasium's CartPole is: one seed, NEXT_STEP, no reset of single rows. Row k ends after k + 2 steps."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self):
        self.num_envs = 2
        self.single_observation_space, self.single_action_space = spaces.Box(0, 9, (1,)), spaces.Discrete(2)
        self.action_space = spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        assert seed is None or isinstance(seed, int)
        assert not options
        self.steps, self.ended = np.zeros(2, np.int64), np.zeros(2, bool)
        return self._seen(), {}

    def step(self, actions):
        self.steps = np.where(self.ended, 0, self.steps + 1)
        reward = np.where(self.ended, 0.0, 1.0)
        self.ended = self.steps == np.array([2, 3])
        return self._seen(), reward, self.ended, np.zeros(2, bool), {}

    def _seen(self):
        return self.steps[:, None].astype(np.float32)


def test_a_vector_that_resets_by_itself_begins_its_games_a_step_later_without_a_decision():
    engine = ludory.make_engine(game_of_object(Own()), 2, seed=1)
    engine.reset()
    for _ in range(2):
        engine.step(np.array([0, 1]))
    assert engine.terminated.tolist() == [True, False]
    engine.reset(np.array([0]))
    assert engine.deciding.tolist() == [[False], [True]]
    assert engine.legal().tolist() == [[True, False], [True, True]]
    engine.step(np.array([0, 1]))
    assert engine.observe().tolist() == [[0.0], [3.0]]
    assert engine.rewards.tolist() == [[0.0], [1.0]]
    assert engine.terminated.tolist() == [False, True]
    assert engine.deciding.tolist() == [[True], [False]]


def test_a_vector_that_resets_by_itself_does_not_end_a_game_early():
    engine = ludory.make_engine(game_of_object(Own()), 2, seed=1)
    engine.reset()
    with pytest.raises(OptionError, match="Own begins the next game of a row by itself"):
        engine.reset(np.array([0]))


VECTORS = {
    "CartPole": lambda: gym.make_vec("CartPole-v1", num_envs=4),
    "NormalizeObservation": lambda: vector_wrappers.NormalizeObservation(
        gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
    ),
    "disabled": lambda: SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.DISABLED),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "learner"), [*((kind, "ppo") for kind in VECTORS), ("CartPole", "vtrace"), ("CartPole", "sb3_ppo")]
)
def test_every_learner_trains_on_a_vector_in_its_own_mode(kind, learner):
    options = {"n_steps": 8, "batch_columns": 4} if learner == "vtrace" else SMALL
    model = ludory.make_algorithm(learner, env=VECTORS[kind](), **options)
    model.learn(400)
    assert model.num_timesteps >= 400


@pytest.mark.slow
def test_ppo_learns_gymnasiums_own_vector_of_cartpole():
    model = ludory.make_algorithm("ppo", env=gym.make_vec("CartPole-v1", num_envs=16), seed=1)
    model.learn(60_000)
    result = ludory.evaluate(model.as_agent(), game="gymnasium:CartPole-v1", games=20, seed=1)
    assert result.mean > 300


# What is said of faults.


def _faulty(**members):
    return type("Faulty", (Counted,), members)


def _old_reset(self, *, seed=None, options=None):
    return Counted.reset(self, seed=seed)[0]


def _unseeded(self):
    return Counted.reset(self)


def _old_step(self, action):
    seen, reward, over, _, info = Counted.step(self, action)
    return seen, reward, over, info


FAULTS = {
    "NaN": ({"seen": lambda self: np.array([0, np.nan])}, "entry 1 of the observation is NaN"),
    "infinite": ({"seen": lambda self: np.array([np.inf, 0])}, "entry 0 of the observation is inf"),
    "large": ({"seen": lambda self: np.array([0, 1e300])}, "is 1e+300, which becomes inf in float32"),
    "shape": ({"seen": lambda self: np.zeros(3)}, "size 3 into shape (2,)"),
    "None in it": ({"seen": lambda self: [None, 0.0]}, "entry 0 of the observation is NaN"),
    "none": ({"reward": lambda self: None}, "the reward is None"),
    "inf": ({"reward": lambda self: np.inf}, "the reward is inf"),
    "reset": ({"reset": _old_reset}, "reset() must return (observation, info), it returned a ndarray"),
    "seed": ({"reset": _unseeded}, "its signature must be reset(self, seed=None, options=None)"),
    "step": (
        {"step": _old_step},
        "step() must return (observation, reward, terminated, truncated, info), it returned 4 values",
    ),
    "info": ({"info": lambda self: None}, "its info is a NoneType, must be a dict"),
}


def _play(env, **options):
    engine = ludory.make_engine(game_of_object(env), 4, seed=1, **options)
    try:
        engine.reset()
        engine.step(np.zeros(4, np.int64))
    finally:
        engine.close()


def _said(env, **options):
    with pytest.raises(LudoryError) as caught:
        _play(env, **options)
    return str(caught.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_an_environment_is_one_line_that_says_what_is_wrong(fault):
    members, words = FAULTS[fault]
    said = _said(_faulty(**members))
    assert words in said
    assert "\n" not in said
    assert "environment 0" in said or said.startswith("Faulty: ")


@pytest.mark.slow
def test_workers_say_the_same():
    class Late(Counted):
        def seen(self):
            return np.array([0, np.nan if self.steps else 0.0])

    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)  # workers cannot import tests
    try:
        said = _said(Late, workers=2)
    finally:
        cloudpickle.unregister_pickle_by_value(here)
    assert said == _said(Late, workers=0)
    assert "environment 0 failed after the actions [0]: entry 1 of the observation is NaN" in said


def test_a_fault_is_found_behind_gymnasiums_wrappers():
    with pytest.raises(OptionError, match=r"step\(\) must return .*not enough values to unpack"):
        game_of_object(lambda: gym.wrappers.TimeLimit(_faulty(step=_old_step)(), 3))


def test_a_named_part_of_the_observation_is_named():
    class Named(Counted):
        observation_space = spaces.Dict({"place": spaces.Box(0, 9, (2,)), "speed": spaces.Box(0, 9, (2,))})

        def seen(self):
            return {"place": np.zeros(2), "speed": np.array([0, np.nan])}

    assert "entry 1 of the observation at 'speed' is NaN" in _said(Named)


def test_rows_of_a_vector_are_named():
    with pytest.raises(OptionError, match="environment 1: entry 1 of the observation is NaN"):
        ludory.make_engine(game_of_object(SyncVectorEnv([Counted, _faulty(**FAULTS["NaN"][0])])), 2).reset()


def test_an_error_of_an_environment_keeps_its_traceback():
    class Broken(Counted):
        def info(self):
            return {}["no key"] if self.steps else {}

    engine = ludory.make_engine(game_of_object(Broken), 1)
    engine.reset()
    with pytest.raises(WorkerError, match="Traceback"):
        engine.step(np.array([0]))
