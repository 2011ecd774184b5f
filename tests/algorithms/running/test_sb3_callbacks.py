"""Stable-Baselines3's own callbacks work on our algorithms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from games.identity import make_identity
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common import callbacks as sb3
from stable_baselines3.common.logger import configure

import ludory
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sb3_ppo import SB3PPO
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import to_sb3

pytestmark = pytest.mark.usefixtures("nothing_left_open")

TINY = "HanabiTiny2P-v0"
OPTIONS = {"num_envs": 16, "n_steps": 8, "batch_size": 64, "n_epochs": 4, "hidden": (32,), "seed": 0}


@pytest.fixture(params=[PPO, SB3PPO], ids=["ppo", "sb3_ppo"])
def kind(request):
    return request.param


def make(kind: type[Algorithm], game=TINY, **options) -> Algorithm:
    return kind("mlp", game, **OPTIONS | options)


def games(game, count=4):
    return to_sb3(make_vector_env(game, num_envs=count))


@pytest.mark.parametrize("callback", [sb3.EvalCallback, MaskableEvalCallback])
def test_evaluation_logs_keeps_the_best_model_and_its_numbers(kind, callback, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EncodingWarning)  # of the logger of Stable-Baselines3
        if callback is sb3.EvalCallback:  # it knows no masks
            warnings.filterwarnings("ignore", message=".*(is not legal; legal: |predict without action_masks=)")
        evaluation = callback(
            games(TINY), eval_freq=8, n_eval_episodes=6, verbose=0, log_path=tmp_path, best_model_save_path=tmp_path
        )
        model = make(kind)
        model.set_logger(configure(str(tmp_path / "log"), ["csv"]))
        model.learn(3 * 128, callback=evaluation)
        model.logger.close()
    table = np.load(tmp_path / "evaluations.npz")
    assert table["timesteps"].tolist() == [128, 256, 384]
    assert table["results"].shape == (3, 6)
    assert evaluation.best_mean_reward == table["results"].mean(1).max()
    assert "eval/mean_reward" in (tmp_path / "log" / "progress.csv").read_text()
    best = ludory.load(tmp_path / "best_model")
    assert (type(best), best.game.id) == (kind, TINY)


def test_masked_evaluation_plays_legal_moves_only(kind):
    evaluation = MaskableEvalCallback(games(TINY), eval_freq=1, n_eval_episodes=20, verbose=0, deterministic=False)
    evaluation.eval_env.vector_env._illegal = "raise"
    make(kind).learn(16, callback=evaluation)
    assert evaluation.best_mean_reward >= 0


def test_training_stops_at_a_mean_reward(kind):
    stop = sb3.StopTrainingOnRewardThreshold(reward_threshold=0.99)
    evaluation = sb3.EvalCallback(
        games(make_identity()), callback_on_new_best=stop, eval_freq=8, n_eval_episodes=40, verbose=0
    )
    model = make(kind, make_identity(), learning_rate=3e-3).learn(200_000, callback=evaluation)
    assert evaluation.best_mean_reward == 1
    assert model.num_timesteps < 50_000


def test_training_stops_without_improvement(kind):
    stop = sb3.StopTrainingOnNoModelImprovement(max_no_improvement_evals=2)
    evaluation = sb3.EvalCallback(games(TINY), callback_after_eval=stop, eval_freq=1, n_eval_episodes=2, verbose=0)
    evaluation.best_mean_reward = np.inf
    assert make(kind).learn(10_000, callback=evaluation).num_timesteps == 16 * 4


def test_checkpoints_are_written_and_load(kind, tmp_path):
    make(kind).learn(256, callback=sb3.CheckpointCallback(8, str(tmp_path), "tiny"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny_128_steps.zip", "tiny_256_steps.zip"]
    assert ludory.load(tmp_path / "tiny_128_steps.zip").num_timesteps == 128
    again = make(kind, init_from=str(tmp_path / "tiny_256_steps.zip"))
    assert again.policy.logits.weight.equal(ludory.load(tmp_path / "tiny_256_steps.zip").policy.logits.weight)


def test_training_stops_after_so_many_episodes_in_each_environment(kind):
    """Every game of Identity is one step long, so that 5 episodes per environment are 5 steps."""
    stop = sb3.StopTrainingOnMaxEpisodes(max_episodes=5)
    model = make(kind, make_identity()).learn(10_000, callback=stop)
    assert stop.n_episodes == 5 * 16
    assert model.num_timesteps == 5 * 16


def test_a_list_calls_all_and_stops_when_one_says_so(kind):
    seen = []
    first = sb3.ConvertCallback(lambda inner, outer: seen.append("first") or True)
    second = sb3.ConvertCallback(lambda inner, outer: seen.append("second") or len(seen) < 6)
    make(kind).learn(10_000, callback=sb3.CallbackList([first, second]))
    assert seen == ["first", "second"] * 3


def test_an_event_comes_every_n_timesteps(kind):
    at = []
    model = make(kind)
    event = sb3.ConvertCallback(lambda inner, outer: at.append(model.num_timesteps) or True)
    model.learn(256, callback=[sb3.EveryNTimesteps(n_steps=64, callback=event)])
    assert at == [64, 128, 192, 256]


def test_logs_are_written_every_n_timesteps(kind, tmp_path):
    model = make(kind)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    note = sb3.ConvertCallback(lambda inner, outer: model.logger.record("own/step", model.num_timesteps) or True)
    model.learn(128, callback=[note, sb3.LogEveryNTimesteps(n_steps=64)])
    model.logger.close()
    rows = (tmp_path / "progress.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows][:2] == ["64", "128"]


def test_the_progress_bar_counts_all_timesteps(kind):
    pytest.importorskip("tqdm")
    bar = sb3.ProgressBarCallback()
    make(kind).learn(256, callback=bar)
    assert (bar.pbar.n, bar.pbar.total) == (256, 256)


def test_callbacks_see_where_games_ended(kind):
    ends = []
    note = sb3.ConvertCallback(lambda inner, outer: True)
    note._on_step = lambda: ends.append(note.locals["dones"].copy()) or True
    model = make(kind).learn(128, callback=note)
    assert np.stack(ends).shape == (8, 16)
    assert not np.stack(ends)[:2].any()  # no game of this kind ends so soon
    assert (np.stack(ends)[-1] == (model.sampler.state()["lengths"].numpy() == 0)).all()
    assert np.stack(ends).any()


def test_evaluation_of_a_recurrent_policy_forgets_at_the_start_of_a_game():
    model = PPO("gru(memory_size=8)", TINY, **OPTIONS)
    model.learn(128, callback=sb3.EvalCallback(games(TINY), eval_freq=8, n_eval_episodes=6, verbose=0))
    seen = np.random.default_rng(0).integers(0, 2, (3, 91)).astype(np.uint8)
    _, memory = model.predict(seen)
    _, after = model.predict(seen, state=memory, episode_start=np.array([True, False, True]))
    assert after[[0, 2]].allclose(memory[[0, 2]])
    assert not after[1].allclose(memory[1])
