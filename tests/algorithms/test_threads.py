"""A batch split over threads gives the gradients, and the optimiser's steps, of the whole batch."""

from __future__ import annotations

import pytest
import torch

from ludory.algorithms.ppo import PPO
from ludory.algorithms.returns import gae
from ludory.algorithms.rollout import Minibatch, minibatches
from ludory.algorithms.threads import backward, forward

TINY = {"num_envs": 128, "n_steps": 16, "hidden": (16, 16), "seed": 1}


def model_and_batch() -> tuple[PPO, Minibatch]:
    model = PPO("mlp", "HanabiTiny2P-v0", **TINY)
    rollout, _ = model.sampler.collect(model.policy, 16, model.generator)
    gains, returns = gae(rollout.steps(), gamma=0.99, lam=0.95)
    return model, next(minibatches(rollout, gains, returns, model.game.facts.num_actions, 2048, model.generator))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_gradients_are_those_of_plain_backpropagation(threads, monkeypatch):
    monkeypatch.setenv("LUDORY_NUM_THREADS", threads)
    model, batch = model_and_batch()
    plain = model._losses(batch)
    plain.loss.backward()
    expected = [parameter.grad.clone() for parameter in model.policy.parameters()]
    found = backward(model._losses, batch, list(model.policy.parameters()))
    for parameter, gradient in zip(model.policy.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
        assert parameter.grad.stride() == parameter.stride()
    torch.testing.assert_close(found, torch.stack([loss.detach() for loss in plain]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_optimiser_step_moves_the_weights_as_plain_backpropagation_does(threads, monkeypatch):
    monkeypatch.setenv("LUDORY_NUM_THREADS", threads)
    (ours, batch), (plain, same) = model_and_batch(), model_and_batch()
    backward(ours._losses, batch, list(ours.policy.parameters()))
    ours.optimizer.step()
    plain._losses(same).loss.backward()
    torch.optim.Adam(plain.policy.parameters(), lr=plain.config.learning_rate, eps=1e-5).step()
    for one, other in zip(ours.policy.parameters(), plain.policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_forward_in_parts_is_forward_of_the_whole(monkeypatch):
    monkeypatch.setenv("LUDORY_NUM_THREADS", "3")
    model, batch = model_and_batch()
    with torch.no_grad():
        whole = model.policy(batch.observations)
    parts = forward(model.policy, batch.observations)
    torch.testing.assert_close(parts.logits, whole.logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(parts.values, whole.values, rtol=1e-4, atol=1e-5)
