"""Learning where seats fall out before the end, and where heads are without effect: what is recorded, and what is not learnt from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from games.elimination import CUT_STANDOFF, HOLD, SEATS, STANDOFF

from ludory.agents.networks.build import build_policy, complete, parse_policy
from ludory.algorithms.ppo import PPO
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.algorithms.sampling.lanes import make_lanes
from ludory.algorithms.sampling.sampler import Sampler
from ludory.algorithms.vtrace import VTrace
from ludory.algorithms.vtrace.vtrace import outputs_in_time
from ludory.envs.make import make_engine

GAMES, STEPS = 12, 20
SMALL = {"num_envs": 16, "n_steps": 8, "seats": "all", "seed": 3}
GRU = "gru(hidden=(8,), memory_size=8)"


def sampled(game, seats="all", policy="mlp(hidden=(8,))"):
    """A rollout, and for each of its steps what the engine said before and after it."""
    engine = make_engine(game, GAMES, seed=1)
    torch.manual_seed(1)
    network = build_policy(complete(parse_policy(policy), {}), game.facts)
    sampler, told = Sampler(make_lanes(game, engine, seats, "random")), []
    plain = engine.step

    def step(actions, rows=None):
        before = engine.alive.copy()
        plain(actions, rows)
        told.append((before, engine.seat_terminated, engine.truncated, engine.rewards))

    engine.step = step
    rollout, stats = sampler.collect(network, STEPS, torch.Generator().manual_seed(1))
    return rollout, stats, told, sampler


@pytest.mark.parametrize("game", [STANDOFF, CUT_STANDOFF], ids=["to the end", "cut off"])
def test_rows_of_a_seat_that_is_out_are_not_valid(game):
    rollout, _, told, sampler = sampled(game)
    holes = 0
    for t, (alive, settled, truncated, rewards) in enumerate(told):
        assert np.array_equal(rollout.valid[t], alive.flatten())
        assert np.array_equal(rollout.rewards[t], rewards.flatten())
        lives = alive.flatten()
        assert np.array_equal(rollout.terminated[t].numpy()[lives], settled.flatten()[lives])
        cut = truncated.repeat(SEATS) & ~settled.flatten()
        assert np.array_equal(rollout.truncated[t].numpy()[lives], cut[lives])
        assert not rollout.rewards[t][~rollout.valid[t]].any()
        holes += int((~alive).sum())
    assert holes > 10
    assert sampler.decisions_per_step == int(told[-1][0].sum())


def test_used_heads_are_recorded():
    rollout, _, _, _ = sampled(STANDOFF)
    assert torch.equal(rollout.used[..., 0], rollout.valid)
    assert torch.equal(rollout.used[..., 1], rollout.valid & (rollout.actions[..., 0] != HOLD))
    alone, _, _, _ = sampled(STANDOFF, seats="1")
    assert torch.equal(alone.used[..., 1], alone.actions[..., 0] != HOLD)


def test_a_lone_seat_that_is_out_starts_the_next_game():
    rollout, stats, told, _ = sampled(STANDOFF, seats="1")
    assert rollout.valid is None
    early = 0
    for t, (alive, settled, _, rewards) in enumerate(told):
        assert alive[:, 1].all()
        assert np.array_equal(rollout.terminated[t], settled[:, 1])
        assert np.array_equal(rollout.rewards[t], rewards[:, 1])
        early += int((settled[:, 1] & ~settled.all(axis=1)).sum())
    assert early > 5
    assert stats.returns.min() == -1
    assert len(stats.returns) == int(rollout.terminated.sum())


def spoilt(rollout):
    """The same decisions, with other things in rows of seats that are out and in heads without effect."""
    out, idle = ~rollout.valid, ~rollout.used
    noise = torch.Generator().manual_seed(0)
    seen = torch.randint(0, 256, rollout.observations.shape, generator=noise, dtype=torch.uint8)
    return rollout._replace(
        observations=torch.where(out.unsqueeze(-1), seen, rollout.observations),
        log_probs=torch.where(idle, rollout.log_probs - 3, rollout.log_probs),
        rewards=torch.where(out, 7.0, rollout.rewards),
        values=torch.where(out, 5.0, rollout.values),
    )


def ppo_gradient(model, rollout):
    gains = torch.linspace(-1, 1, rollout.values.numel()).view_as(rollout.values)
    update = TorchUpdate(model.policy, model.optimizer, model.config, rollout, gains, gains)
    update.gradient(torch.arange(update.count))
    return [parameter.grad.clone() for parameter in model.policy.parameters()]


def vtrace_gradient(model, rollout):
    loss = model._loss(rollout, outputs_in_time(model.policy, rollout, SEATS)).total
    return torch.autograd.grad(loss, model.policy.parameters())


@pytest.mark.parametrize(("kind", "gradient"), [(PPO, ppo_gradient), (VTrace, vtrace_gradient)], ids=["ppo", "vtrace"])
def test_nothing_is_learnt_from_seats_that_are_out_nor_from_heads_without_effect(kind, gradient):
    model = kind("mlp(hidden=(8,))", STANDOFF, **SMALL)
    torch.nn.init.normal_(model.policy.logits.weight, 0, 0.5)
    rollout, _ = model.sampler.collect(model.policy, 8, model.generator)
    assert (~rollout.valid).any()
    honest, changed = gradient(model, rollout), gradient(model, spoilt(rollout))
    for one, other in zip(honest, changed, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)
    unaware = gradient(model, spoilt(rollout)._replace(used=None, valid=None))
    assert not all(torch.allclose(one, other, rtol=1e-3) for one, other in zip(honest, unaware, strict=True))


@pytest.mark.parametrize("policy", ["mlp(hidden=(8,))", GRU])
@pytest.mark.parametrize("kind", [PPO, VTrace])
@pytest.mark.parametrize("seats", ["all", "2"])
def test_algorithms_train_on_it(kind, policy, seats):
    model = kind(policy, STANDOFF, **SMALL | {"seats": seats}).learn(400)
    assert all(torch.isfinite(p).all() for p in model.policy.parameters())


def test_seats_that_are_out_are_not_counted_as_decisions():
    model = PPO("mlp(hidden=(8,))", STANDOFF, **SMALL).learn(100)
    assert 100 <= model.num_timesteps < 16 * SEATS * 8
