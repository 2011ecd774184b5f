"""PPO with memory, self-play, a teacher, schedules and scaled values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from games.memory import make_memory
from games.nim import matching, nim

from ludory.algorithms.ppo import PPO
from ludory.checkpoints.checkpoint import read_header
from ludory.errors import CheckpointError, OptionError

QUICK = {"num_envs": 64, "n_steps": 16, "batch_size": 256, "n_epochs": 4, "learning_rate": 5e-3, "seed": 0}
GRU = "gru(hidden=(16,), memory_size=16)"
SMALL = {"num_envs": 8, "n_steps": 8, "batch_size": 32, "n_epochs": 2, "seed": 3}


def mean_return(model: PPO) -> float:
    return float(np.mean([model.iterate(lambda: True)["rollout/ep_rew_mean"] for _ in range(4)]))


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2])
def test_only_a_policy_with_memory_learns_to_remember(players):
    recurrent = PPO(GRU, make_memory(players), **QUICK).learn(40_000)
    assert mean_return(recurrent) > 0.9
    flat = PPO("mlp", make_memory(players), hidden=(32,), **QUICK).learn(40_000)
    assert mean_return(flat) < 0.65


def test_a_resumed_recurrent_run_ends_at_the_same_numbers(tmp_path):
    whole = PPO(GRU, "HanabiTiny2P-v0", **SMALL).learn(256)
    half = PPO(GRU, "HanabiTiny2P-v0", **SMALL).learn(128)
    half.save(tmp_path / "half.ludory")
    rest = PPO.load(tmp_path / "half.ludory").learn(128, reset_num_timesteps=False)
    for one, other in zip(whole.policy.parameters(), rest.policy.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
def test_self_play_learns_nim_from_both_seats():
    """Take 1 or 2 sticks, the last one wins: with 1, 2 or 4 sticks the mover wins by leaving none or 3; with 3 it has lost."""
    quick = QUICK | {"num_envs": 128, "batch_size": 512, "n_epochs": 8, "learning_rate": 3e-3}
    model = PPO("mlp(hidden=(64, 64), activation=tanh)", nim(heaps=1, largest=6), seats="all", **quick).learn(60_000)
    engine = model.engine
    engine.reset(np.arange(4), options={"heaps": np.array([[1], [2], [4], [3]])})
    observation, masks = engine.observe(0)[:4], engine.legal()[:4]
    actions, _ = model.predict(observation, deterministic=True, action_masks=masks)
    assert [int(action) + 1 for action in actions[:3]] == [1, 2, 1]
    values = model.policy(torch.as_tensor(observation).flatten(1).float()).values
    assert (values[:3] > 0.5).all()
    assert values[3] < -0.5


def test_self_play_of_a_simultaneous_game_with_several_heads():
    model = PPO("gru(hidden=(8,), memory_size=8)", matching(), seats="all", **SMALL)
    model.learn(128)
    assert model.num_timesteps == 128
    assert len(model.sampler.lanes.games) == model.engine.num_games * model.game.facts.players


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mlp", GRU])
def test_a_strong_teacher_holds_the_policy_where_it_is(policy, tmp_path):
    start = PPO(policy, make_memory(2), **QUICK).learn(20_000)
    start.save(tmp_path / "teacher.ludory")
    file = str(tmp_path / "teacher.ludory")

    def drift(coef: float) -> float:
        model = PPO(policy, make_memory(2), init_from=file, teacher=file, kl_coef=coef, ent_coef=0.5, **QUICK)
        return [model.iterate(lambda: True)["train/teacher_kl"] for _ in range(6)][-1]

    assert drift(100.0) < 0.5 * drift(0.001)


def test_a_run_goes_on_only_with_the_teacher_that_it_had(tmp_path):
    file = tmp_path / "teacher.ludory"
    PPO("mlp", "HanabiTiny2P-v0", **SMALL).save(file)
    PPO("mlp", "HanabiTiny2P-v0", teacher=str(file), **SMALL).learn(64).save(tmp_path / "run.ludory")
    assert len(read_header(tmp_path / "run.ludory")["teacher"]) == 64
    PPO.load(tmp_path / "run.ludory").learn(64, reset_num_timesteps=False)
    PPO("mlp", "HanabiTiny2P-v0", **SMALL | {"seed": 9}).save(file)
    changed = PPO.load(tmp_path / "run.ludory")
    with pytest.raises(CheckpointError, match="this teacher has changed since the run began"):
        changed.learn(64, reset_num_timesteps=False)
    file.unlink()
    gone = PPO.load(tmp_path / "run.ludory")
    assert gone.as_agent() is not None  # it still plays
    with pytest.raises(CheckpointError, match="no such file"):
        gone.learn(64, reset_num_timesteps=False)


def test_step_size_and_entropy_weight_follow_their_schedules():
    model = PPO(
        "mlp", "HanabiTiny2P-v0", learning_rate=1e-3, final_learning_rate=0.0, ent_coef=0.1, final_ent_coef=0.0, **SMALL
    )
    seen = []
    plain = model._passes

    def watch(update):
        result = plain(update)
        seen.append((model.optimizer.param_groups[0]["lr"], update.ent_coef))
        return result

    model._passes = watch
    model.learn(256)
    rates, weights = zip(*seen, strict=True)
    assert rates == pytest.approx([7.5e-4, 5e-4, 2.5e-4, 0.0])
    assert weights == pytest.approx([0.075, 0.05, 0.025, 0.0])


@pytest.mark.plain
def test_value_errors_are_divided_by_the_deviation_of_returns():
    model = PPO("mlp", "HanabiTiny2P-v0", normalize_values=True, **SMALL).learn(128)
    assert model.return_moments.count == 128
    model.config = replace(model.config, compiled=True)
    assert model._update(*_targets(model)).vf_coef == pytest.approx(0.5 / float(model.return_moments.deviation) ** 2)


def _targets(model: PPO):
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    return rollout, rollout.values, rollout.values


def test_bfloat16_trains_and_an_unknown_precision_is_refused():
    PPO(GRU, "HanabiTiny2P-v0", precision="bf16", **SMALL).learn(128)
    with pytest.raises(OptionError, match="must be 'auto', 'float32', 'bf16' or '32'"):
        PPO("mlp", "HanabiTiny2P-v0", precision="16")


def test_float_observations_are_scaled_by_what_was_seen(tmp_path):
    game = nim(heaps=1, largest=6)
    options = SMALL | {"num_envs": 64, "seats": "all", "normalize_observations": True}
    model = PPO("mlp(hidden=(8,))", game, **options).learn(1024)
    encoder, heaps = model.policy.encoder, model.observation_moments
    assert 1 < float(heaps.mean[0]) < 6
    torch.testing.assert_close(encoder.scale.double(), 1 / heaps.deviation, rtol=1e-5, atol=1e-5)
    weight, bias = encoder.plain()
    seen = torch.tensor([[4.0, 0.0], [1.0, 0.0]])
    torch.testing.assert_close(encoder(seen), seen @ weight.T + bias)
    model.save(tmp_path / "m.ludory")
    loaded = PPO.load(tmp_path / "m.ludory", env=game)
    assert torch.equal(loaded.policy(seen).logits, model.policy(seen).logits)
    with pytest.raises(OptionError, match="shows bits"):
        PPO("mlp", "HanabiTiny2P-v0", normalize_observations=True)
