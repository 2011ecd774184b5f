"""Environments of Gymnasium, PettingZoo and Stable-Baselines3 are games like any other."""

from itertools import chain, repeat

import gymnasium as gym
import numpy as np
import pytest
from games.foreign_nim import Nim
from gymnasium import spaces
from pettingzoo import ParallelEnv
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import ludory
from ludory.cli import main
from ludory.envs.adapters import gymnasium_game
from ludory.envs.adapters.engine import default_workers, png
from ludory.envs.adapters.spaces import Actions, Observations
from ludory.envs.engine.pool_worker import RESET
from ludory.errors import CheckpointError, OptionError, UnknownIdError

SMALL = {"n_steps": 16, "batch_size": 32, "n_epochs": 1}


class Target(gym.Env):
    """The action closest to the number that is shown earns the most; one step ends the game, several cut it."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float32)
    metadata = {"render_modes": ["ansi", "rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None, length=1):
        self.render_mode, self.length = render_mode, length

    def _seen(self):
        return np.array([self.goal, 100.0])

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.goal, self.steps = self.np_random.uniform(-0.8, 0.8), 0
        return self._seen(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.steps += 1
        over = self.steps == self.length
        return self._seen(), -abs(float(action[0]) - self.goal), over and self.length == 1, over and self.length > 1, {}

    def render(self):
        return f"goal {self.goal:.2f}" if self.render_mode == "ansi" else np.full((4, 6, 3), 7, np.uint8)


class Choices(gym.Env):
    """Dict observations, two-headed actions, a mask in info."""

    observation_space = spaces.Dict(
        {"card": spaces.Discrete(3, start=1), "pair": spaces.Tuple([spaces.MultiBinary(2)])}
    )
    action_space = spaces.MultiDiscrete([2, 3])

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return {"card": 3, "pair": (np.array([1, 0]),)}, {"action_mask": (np.array([0, 1]), np.array([1, 1, 0]))}

    def step(self, action):
        return {"card": 1, "pair": (np.array([0, 0]),)}, float(action.sum()), True, False, {}


class Survivors(ParallelEnv):
    """The second agent is out after one round, the third round ends the game for the others."""

    metadata = {"render_modes": [], "name": "survivors_v0"}  # noqa: RUF012
    possible_agents = ["a", "b", "c"]  # noqa: RUF012

    def observation_space(self, agent):
        return spaces.Discrete(4)

    def action_space(self, agent):
        return spaces.Discrete(2 if agent == "a" else 3)

    def reset(self, seed=None, options=None):
        self.agents, self.round = self.possible_agents[:], 0
        return dict.fromkeys(self.agents, 0), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.round += 1
        playing = self.agents
        ended = {agent: self.round == 3 or (agent == "b" and self.round == 1) for agent in playing}
        rewards = {agent: float(actions[agent]) for agent in playing}
        self.agents = [agent for agent in playing if not ended[agent]]
        return (
            dict.fromkeys(playing, self.round),
            rewards,
            ended,
            dict.fromkeys(playing, False),
            {a: {} for a in playing},
        )


def test_a_number_from_64_bits_keeps_its_shape_and_may_be_unbounded():
    spec = Observations(Target.observation_space).spec
    assert (spec.shape, spec.dtype, spec.low, spec.high) == ((2,), "float32", -np.inf, np.inf)


def test_dict_and_tuple_are_flattened_with_a_segment_per_key():
    observations = Observations(Choices.observation_space)
    assert [(s.name, s.start, s.length) for s in observations.spec.segments] == [("card", 0, 3), ("pair.0", 3, 2)]
    assert observations.spec.bits
    out = np.full(5, 9, np.uint8)
    observations.write({"card": 2, "pair": (np.array([0, 1]),)}, out)
    assert out.tolist() == [0, 1, 0, 0, 1]


def test_pictures_stay_bytes():
    spec = Observations(spaces.Box(0, 255, (4, 6, 3), np.uint8)).spec
    assert (spec.shape, spec.dtype, spec.high, spec.bits) == ((4, 6, 3), "uint8", 255, False)


def test_a_space_of_text_is_refused_by_its_name():
    with pytest.raises(OptionError, match=r"at 'say'.*gymnasium.ObservationWrapper"):
        Observations(spaces.Dict({"say": spaces.Text(5)}))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 4]),
        spaces.MultiBinary(3),
        spaces.Dict({"x": spaces.Discrete(2), "y": spaces.Tuple([spaces.MultiBinary(2)])}),
        spaces.Box(-1, 2, (2, 2), np.float64),
    ],
)
def test_every_action_of_ours_lies_in_the_space(space):
    actions = Actions(space)
    if actions.box is None:
        most = np.array([head.size - 1 for head in actions.heads])
    else:
        most = np.array(actions.box.high, np.float32)
    assert space.contains(actions.value(most))
    assert space.contains(actions.value(0 * most))


def test_masks_of_info_are_the_legal_actions():
    engine = ludory.make_engine(game_of(Choices), 2, seed=1)
    engine.reset()
    assert engine.legal().tolist() == [[False, True, True, True, False]] * 2
    engine.step(np.array([[1, 0], [1, 1]]))
    assert engine.rewards.tolist() == [[1], [2]]
    assert engine.terminated.all()


def game_of(env):
    from ludory.envs.adapters.objects import game_of_object

    return game_of_object(env)


@pytest.mark.slow
def test_games_depend_on_seed_and_number_alone_and_not_on_workers():
    shown = []
    for options in ({}, {"workers": 2}):
        engine = ludory.make_engine("gymnasium:CartPole-v1", 3, seed=5, **options)
        engine.reset()
        for _ in range(5):
            engine.step(np.array([0, 1, 1]))
        engine.reset(rows=[1])
        shown.append(engine.observe())
        engine.close()
    assert np.array_equal(*shown)
    later = ludory.make_engine("gymnasium:CartPole-v1", 1, seed=5, first_game=2)
    later.reset()
    fresh = ludory.make_engine("gymnasium:CartPole-v1", 3, seed=5)
    fresh.reset()
    assert np.array_equal(later.observe()[0], fresh.observe()[2])


@pytest.mark.slow
def test_workers_start_the_next_game_without_being_asked(monkeypatch):
    here, away = (ludory.make_engine("gymnasium:CartPole-v1", 4, seed=3, workers=workers) for workers in (0, 2))
    orders, exchange = [], away.pool._exchange
    monkeypatch.setattr(
        away.pool, "_exchange", lambda rows, order, given: orders.append(order) or exchange(rows, order, given)
    )
    generator = np.random.default_rng(0)
    here.reset()
    away.reset()
    for _ in range(60):
        actions = generator.integers(2, size=4)
        here.step(actions)
        away.step(actions)
        np.testing.assert_array_equal(here.observe(0), away.observe(0))
        for engine in (here, away):
            engine.reset(np.flatnonzero(engine.over))
        np.testing.assert_array_equal(here.observe(0), away.observe(0))
    assert orders.count(RESET) == 1, "only the first games were asked for"
    for engine in (here, away):
        engine.reset(seed=9)
    np.testing.assert_array_equal(here.observe(0), away.observe(0))
    away.close()


def test_a_game_that_is_cut_shows_its_true_final_observation():
    engine = ludory.make_engine(game_of(lambda: Target(length=2)), 1, seed=3)
    engine.reset()
    first = engine.observe()
    engine.step(np.zeros((1, 1), np.float32))
    engine.step(np.zeros((1, 1), np.float32))
    assert engine.truncated.tolist() == [True]
    assert not engine.terminated.any()
    assert np.array_equal(engine.observe(), first)


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownIdError, match="did you mean gymnasium:CartPole-v1"):
        ludory.make_game("gymnasium:CartPol-v1")
    with pytest.raises(UnknownIdError, match="gymnasium:NAME or pettingzoo:NAME"):
        ludory.make_game("CartPole-v1")
    with pytest.raises(UnknownIdError, match="did you mean pettingzoo:connect_four_v3"):
        ludory.make_game("pettingzoo:conect_four_v3")
    with pytest.raises(UnknownIdError, match="no module 'no_such_module'"):
        ludory.make_game("gymnasium:no_such_module:Env")
    with pytest.raises(OptionError, match=r"options {'wind': 3}"):
        ludory.make_game("gymnasium:CartPole-v1", wind=3)


def test_a_class_of_a_module_is_an_id():
    game = ludory.make_game(f"gymnasium:{__name__}:Target", length=3)
    assert game.options == {"length": 3}
    assert game.facts.box == ((-1.0,), (1.0,))


def test_who_needs_copies_refuses_in_one_line():
    game = ludory.make_game("gymnasium:CartPole-v1")
    engine = ludory.make_engine(game)
    engine.reset()
    with pytest.raises(OptionError, match=r"gymnasium:CartPole-v1 cannot .*its rules run elsewhere"):
        engine.clone()
    with pytest.raises(OptionError, match="vtrace-v1 needs games with categorical actions"):
        ludory.make_algorithm("vtrace", env=Target)


def test_turns_and_zero_sum_rewards_are_found_by_playing():
    game = game_of(Nim)
    assert (game.facts.turns, game.facts.reward, game.facts.players) == ("sequential", "zero_sum", 2)
    engine = ludory.make_engine(game, 1, seed=1)
    engine.reset()
    for action in (1, 1):
        engine.step(np.array([action]))
    assert engine.legal().tolist() == [[True, False]]
    engine.step(np.array([0]))
    assert engine.rewards.tolist() == [[1, -1]]
    assert engine.to_move.tolist() == [-1]


@pytest.mark.slow
def test_self_play_learns_nim():
    model = ludory.make_algorithm("ppo", env=Nim, num_envs=64, seed=1)
    assert model.config.others == "self"
    model.learn(12_000)
    result = ludory.evaluate([model.as_agent(), "random"], game=model.game, games=100, seed=2)
    assert result.mean[0] > 0.9  # five sticks are won by who moves first


def test_agents_of_a_parallel_environment_may_leave():
    game = game_of(Survivors)
    assert (game.facts.turns, game.facts.head_sizes, game.seats_leave) == ("simultaneous", (3,), True)
    engine = ludory.make_engine(game, 1, seed=1)
    engine.reset()
    assert engine.legal()[0].tolist() == [[True, True, False], [True, True, True], [True, True, True]]
    engine.step(np.array([[[1], [2], [2]]]))
    assert engine.alive.tolist() == [[True, False, True]]
    assert engine.seat_terminated.tolist() == [[False, True, False]]
    for _ in range(2):
        engine.step(np.array([[[1], [0], [2]]]))
    assert engine.terminated.tolist() == [True]
    assert engine.seat_terminated.tolist() == [[True, False, True]]
    ludory.make_algorithm("ppo", env=Survivors, num_envs=4, **SMALL).learn(200)
    assert ludory.evaluate("random", game=game, games=3, seed=1).returns.shape == (3, 3)


@pytest.mark.slow
def test_ppo_learns_continuous_actions_and_keeps_them_in_a_file(tmp_path):
    model = ludory.make_algorithm(
        "ppo", env=Target, num_envs=16, n_steps=32, batch_size=128, learning_rate=3e-3, final_learning_rate=None, seed=1
    )
    assert model.config.normalize_observations
    before = ludory.evaluate(model.as_agent(), game=model.game, games=100, seed=1).mean
    model.learn(6_000)
    after = ludory.evaluate(model.as_agent(), game=model.game, games=100, seed=1).mean
    assert before < -0.3
    assert after > -0.12
    seen = np.array([[0.5, 100], [-0.5, 100]], np.float32)
    actions, _ = model.predict(seen, deterministic=True)
    assert actions.shape == (2, 1)
    assert actions.dtype == np.float32
    model.save(tmp_path / "target.ludory")
    with pytest.raises(CheckpointError, match="env="):
        ludory.load(tmp_path / "target.ludory")
    again = ludory.load(tmp_path / "target.ludory", env=Target)
    assert np.array_equal(again.predict(seen, deterministic=True)[0], actions)
    drawn, _ = again.predict(np.repeat(seen, 50, axis=0))
    assert (np.abs(drawn) <= 1).all()
    assert ludory.evaluate(model.as_agent(deterministic=False), game=model.game, games=5, seed=1).returns.shape == (
        5,
        1,
    )


def _vector(**kwargs):
    return gym.vector.SyncVectorEnv([lambda: Target(length=3)] * 3, **kwargs)


@pytest.mark.parametrize(
    ("env", "count"),
    [
        (lambda: Target(length=3), 1),
        (lambda: [Target(length=3), lambda: Target(length=2)], 2),
        (_vector, 3),
        (lambda: _vector(autoreset_mode=gym.vector.AutoresetMode.SAME_STEP), 3),
        (lambda: VecNormalize(make_vec_env(lambda: Target(length=3), 4)), 4),
    ],
    ids=["object", "list", "next step", "same step", "VecNormalize"],
)
def test_an_environment_may_be_handed_in_as_to_stable_baselines3(env, count):
    model = ludory.make_algorithm("ppo", env=env(), **SMALL)
    assert model.config.num_envs == count
    model.learn(100 * count)
    assert model.num_timesteps >= 100 * count


def test_vector_environments_tell_how_games_ended():
    for env in (_vector(), DummyVecEnv([lambda: gym.wrappers.TimeLimit(Target(length=9), 3)] * 3)):
        engine = ludory.make_engine(game_of(env), 3, seed=1)
        engine.reset()
        first = engine.observe()
        for _ in range(3):
            engine.step(np.zeros((3, 1), np.float32))
        assert engine.truncated.all()
        assert np.array_equal(engine.observe(), first)
        engine.reset(rows=[0, 2])
        assert not np.array_equal(engine.observe()[0], first[0])
        engine.step(np.zeros((3, 1), np.float32))
        assert engine.rewards[1] == 0


def test_tools_of_stable_baselines3_work_on_our_ids(tmp_path):
    check_env(_view("gymnasium:CartPole-v1"), skip_render_check=True)
    wrapped = VecNormalize(make_vec_env(lambda: _view("gymnasium:CartPole-v1"), 2))
    assert wrapped.reset().shape == (2, 4)
    model = ludory.make_algorithm("ppo", env="gymnasium:CartPole-v1", num_envs=4, **SMALL)
    callback = EvalCallback(
        make_vec_env(lambda: _view("gymnasium:CartPole-v1"), 2), eval_freq=16, n_eval_episodes=2, verbose=0
    )
    model.learn(128, callback=callback)
    assert np.isfinite(callback.last_mean_reward)


def _view(id):
    from ludory.envs.views.gymnasium_env import make_env

    return make_env(id)


def test_views_hand_on_continuous_actions():
    env = _view(f"gymnasium:{__name__}:Target")
    assert env.action_space == Target.action_space
    env.reset(seed=1)
    _, _, terminated, truncated, info = env.step(np.array([0.5], np.float32))
    assert terminated
    assert not truncated
    assert info["returns"].shape == (1,)


def test_continuous_actions_are_not_recorded(tmp_path):
    from ludory.agents.evaluation.record import record

    with pytest.raises(OptionError, match="a recording needs games with categorical actions"):
        record("random", f"gymnasium:{__name__}:Target", 2, tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_pictures_are_what_the_environment_renders():
    game = ludory.make_game(f"gymnasium:{__name__}:Target")
    engine = ludory.make_engine(game, seed=1)
    engine.reset()
    assert "data:image/png;base64," in game.look.svg(engine.state, 0, None)
    plain = ludory.make_engine(ludory.make_game(f"gymnasium:{__name__}:Target", render_mode="ansi"), seed=1)
    plain.reset()
    assert game.look.text(plain.state, 0, None).startswith("goal ")


def test_a_png_is_read_back_as_it_was():
    image = pytest.importorskip("PIL.Image")
    import io

    frame = np.random.default_rng(1).integers(0, 256, (5, 7, 3), np.uint8)
    assert np.array_equal(np.asarray(image.open(io.BytesIO(png(frame)))), frame)


def test_cheap_environments_are_played_in_this_process(monkeypatch):
    assert default_workers(64, 1e-5) == 0
    assert default_workers(2, 1.0) == 0
    clock = chain([0.0, 0.1], repeat(0.2))  # read before and after each step
    monkeypatch.setattr(gymnasium_game, "perf_counter", lambda: next(clock))
    assert ludory.make_game("gymnasium:CartPole-v1").rules.engine.seconds == 0, "the first step does not count"


def test_an_environment_keeps_the_contract_also_where_nothing_can_draw_it(capsys):
    assert main(["check", "gymnasium:CartPole-v1", "--games", "2"]) == 0
    assert "gymnasium:CartPole-v1 keeps the contract" in capsys.readouterr().out
