"""V-trace and UPGO: on fresh data it is on-policy learning; it learns, remembers, resumes, counts reuse and drops what is old."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.identity import make_identity
from games.memory import make_memory
from games.nim import matching, nim

from ludory.algorithms.losses.returns import Steps, n_step
from ludory.algorithms.ppo import PPO
from ludory.algorithms.vtrace import VTrace
from ludory.algorithms.vtrace.vtrace import SequenceReplay, outputs_in_time, replayed_steps, rows_to_learn
from ludory.errors import CheckpointError, OptionError

QUICK = {"num_envs": 64, "n_steps": 16, "batch_columns": 32, "learning_rate": 5e-3, "c_value": 0.5, "seed": 0}
SMALL = {"num_envs": 8, "n_steps": 8, "batch_columns": 4, "seed": 3}
GRU = "gru(hidden=(16,), memory_size=16)"


def test_learns_the_identity_game_in_seconds():
    model = VTrace("mlp(hidden=(32,))", make_identity(), **QUICK).learn(12_000)
    actions, _ = model.predict(np.eye(4, dtype=np.uint8), deterministic=True)
    assert actions.tolist() == [0, 1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("players", [1, 2])
def test_only_a_policy_with_memory_learns_to_remember(players):
    def mean_return(policy: str) -> float:
        model = VTrace(policy, make_memory(players), c_entropy=0.01, **QUICK).learn(30_000)
        return float(np.mean([model.iterate(lambda: True)["rollout/ep_rew_mean"] for _ in range(4)]))

    assert mean_return(GRU) > 0.9
    assert mean_return("mlp(hidden=(32,))") < 0.65


@pytest.mark.parametrize("policy", ["mlp(hidden=(8,))", GRU])
@pytest.mark.parametrize("ratios", ["joint", "split"])
def test_on_fresh_data_the_gradient_is_that_of_on_policy_n_step_learning(policy, ratios):
    """Lambda = 1, no UPGO: advantages are n-step returns to the end of the sequence minus values."""
    model = VTrace(policy, "HanabiTiny2P-v0", c_upgo=0, lam=1.0, gamma=0.9, c_entropy=0, ratios=ratios, **SMALL)
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    output = outputs_in_time(model.policy, rollout, 2)
    torch.testing.assert_close(output.values, rollout.values, rtol=1e-4, atol=1e-5)
    loss = model._loss(rollout, output).total
    found = torch.autograd.grad(loss, model.policy.parameters())

    output = outputs_in_time(model.policy, rollout, 2)
    steps = replayed_steps(rollout, output.values.detach())
    returns = n_step(steps, 8, gamma=0.9)
    mask = torch.from_numpy(np.unpackbits(rollout.masks.numpy(), axis=-1)[..., : model.game.facts.num_actions]).bool()
    log_p = model.policy.distribution(output.logits, mask).log_prob(rollout.actions).sum(-1)
    gains = torch.where(steps.valid, returns - steps.values, 0)
    plain = -(gains * log_p).sum() + 5.0 * torch.where(steps.valid, (returns - output.values) ** 2, 0).sum()
    expected = torch.autograd.grad(plain / steps.valid.sum(), model.policy.parameters())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_old_data_weigh_less_where_the_policy_moved_away():
    """Actions that became twice as unlikely count half; their log-ratio is what the loss sees."""
    model = VTrace("mlp(hidden=(8,))", "HanabiTiny2P-v0", **SMALL)
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    older = rollout._replace(log_probs=rollout.log_probs + np.log(2))
    output = outputs_in_time(model.policy, rollout, 2)
    fresh, stale = (model._loss(one, output) for one in (rollout, older))
    numbers = model._ratios(older, stale.log_ratios.exp(), rows_to_learn(older))
    assert numbers["rho/" + model.game.facts.head_names[0]] == pytest.approx(0.5, rel=1e-4)
    assert float(stale.total) != pytest.approx(float(fresh.total))


@pytest.mark.slow
def test_a_resumed_run_ends_at_the_same_numbers(tmp_path):
    # Several seeds: what a full replay pushes out must not depend on which of its rollouts are used up.
    for options in ({}, *({"replay_rollouts": 3, "seed": seed} for seed in range(4))):
        whole = VTrace(GRU, "HanabiTiny2P-v0", **(SMALL | options)).learn(640)
        half = VTrace(GRU, "HanabiTiny2P-v0", **(SMALL | options)).learn(320)
        half.save(tmp_path / "half.ludory")
        rest = VTrace.load(tmp_path / "half.ludory").learn(320, reset_num_timesteps=False)
        assert rest.version == whole.version > 0
        for one, other in zip(whole.policy.parameters(), rest.policy.parameters(), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("game", [nim(), matching()])
def test_every_seat_of_a_competitive_game_learns(game):
    model = VTrace("mlp(hidden=(8,))", game, seats="all", **SMALL).learn(512)
    assert all(torch.isfinite(p).all() for p in model.policy.parameters())
    assert model.version > 0


def test_every_sequence_is_used_as_often_as_asked():
    model = VTrace("mlp(hidden=(8,))", "HanabiTiny2P-v0", reuse=3, **SMALL)
    for _ in range(3):
        model.iterate(lambda: True)
        assert model.replay.uses() == [[3] * 8]
    assert model.version == 3 * 6
    assert model.replay.dropped == 0


def test_sequences_of_old_weights_are_dropped_and_counted():
    model = VTrace("mlp(hidden=(8,))", "HanabiTiny2P-v0", **SMALL)
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    replay = SequenceReplay(rollouts=2, reuse=2, max_lag=10)
    replay.add(rollout, version=0)
    assert replay.draw(4, version=10, generator=model.generator).rollout.starts.shape == (8, 4)
    assert replay.draw(4, version=11, generator=model.generator) is None
    assert replay.dropped == 8  # four of them had been used once


def test_the_last_decision_of_a_sequence_only_gives_a_value():
    model = VTrace("mlp(hidden=(8,))", "HanabiTiny2P-v0", **SMALL)
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    steps = replayed_steps(rollout, rollout.values)
    assert isinstance(steps, Steps)
    assert torch.equal(steps.valid[-1], rollout.terminated[-1] | rollout.truncated[-1])
    assert torch.equal(
        steps.next_values[-2], torch.where(rollout.truncated[-2], rollout.next_values[-2], rollout.values[-1])
    )


def test_kl_holds_the_policy_at_its_teacher(tmp_path):
    PPO("mlp(hidden=(32,))", make_memory(2), num_envs=64, n_steps=16, batch_size=256, seed=0).save(
        tmp_path / "t.ludory"
    )
    file = str(tmp_path / "t.ludory")

    def drift(weight: float) -> float:
        model = VTrace("mlp(hidden=(32,))", make_memory(2), init_from=file, teacher=file, c_kl=weight, **QUICK)
        return [model.iterate(lambda: True)["train/teacher_kl"] for _ in range(6)][-1]

    assert drift(100.0) < 0.5 * drift(0.001)


def test_a_checkpoint_of_another_game_is_refused(tmp_path):
    VTrace("mlp(hidden=(8,))", "HanabiTiny2P-v0", **SMALL).save(tmp_path / "tiny.ludory")
    with pytest.raises(CheckpointError, match=r"HanabiTiny2P-v0.*HanabiSmall2P-v0"):
        VTrace.load(tmp_path / "tiny.ludory", env="HanabiSmall2P-v0")
    with pytest.raises(CheckpointError, match=r"HanabiTiny2P-v0 does not fit HanabiSmall2P-v0"):
        VTrace("mlp(hidden=(8,))", "HanabiSmall2P-v0", init_from=str(tmp_path / "tiny.ludory"), **SMALL)


def test_a_preset_sets_the_loss_and_what_is_given_wins(tmp_path):
    model = VTrace("mlp(hidden=(8,))", "HanabiTiny2P-v0", preset="seed", c_kl=0.3, **SMALL)
    config = model.config
    assert (config.gamma, config.c_upgo, config.c_value, config.ratios, config.c_kl) == (0.99, 0.2, 0.5, "joint", 0.3)
    model.save(tmp_path / "m.ludory")
    assert VTrace.load(tmp_path / "m.ludory").config == config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "paper"}, "preset='paper'"),
        ({"n_steps": 1}, "n_steps=1"),
        ({"ratios": "none"}, "ratios='none'"),
        ({"c_bar": 2.0}, "c_bar=2.0"),
        ({"lam": 1.1}, "lam=1.1"),
        ({"reuse": 0}, "reuse=0"),
        ({"learning_rate": 0}, "learning_rate=0"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        VTrace("mlp", "HanabiTiny2P-v0", **SMALL | options)
