"""A batch split over threads gives the gradients, and the optimiser's steps, of the whole batch."""

from __future__ import annotations

import pytest
import torch

from ludory.algorithms.losses.returns import gae
from ludory.algorithms.ppo import PPO
from ludory.algorithms.ppo.torch_update import TorchUpdate
from ludory.algorithms.running.threads import backward, forward, precise

TINY = {"num_envs": 128, "n_steps": 16, "hidden": (16, 16), "seed": 1}


def model_and_update() -> tuple[PPO, TorchUpdate]:
    model = PPO("mlp", "HanabiTiny2P-v0", **TINY)
    rollout, _ = model.sampler.collect(model.policy, 16, model.generator)
    targets = gae(rollout.steps(), gamma=0.99, lam=0.95)
    return model, TorchUpdate(model.policy, model.optimizer, model.config, rollout, *targets)


ROWS = torch.arange(2048)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_gradients_are_those_of_plain_backpropagation(threads, monkeypatch):
    monkeypatch.setenv("LUDORY_NUM_THREADS", threads)
    model, update = model_and_update()
    plain = update.losses(update.select(ROWS), 0, len(ROWS))
    plain[0].backward()
    expected = [parameter.grad.clone() for parameter in model.policy.parameters()]
    found = update.gradient(ROWS)
    for parameter, gradient in zip(model.policy.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
        assert parameter.grad.stride() == parameter.stride()
    torch.testing.assert_close(found, torch.stack([loss.detach() for loss in plain]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_optimiser_step_moves_the_weights_as_plain_backpropagation_does(threads, monkeypatch):
    monkeypatch.setenv("LUDORY_NUM_THREADS", threads)
    (ours, update), (plain, same) = model_and_update(), model_and_update()
    update.gradient(ROWS)
    update.optimizer.step()
    same.losses(same.select(ROWS), 0, len(ROWS))[0].backward()
    torch.optim.Adam(plain.policy.parameters(), lr=plain.config.learning_rate, eps=1e-5).step()
    for one, other in zip(ours.policy.parameters(), plain.policy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_forward_in_parts_is_forward_of_the_whole(monkeypatch):
    monkeypatch.setenv("LUDORY_NUM_THREADS", "3")
    model, update = model_and_update()
    seen = update.columns["observations"]
    with torch.no_grad():
        whole = model.policy(seen)
    parts = forward(model.policy, seen)
    torch.testing.assert_close(parts.logits, whole.logits, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(parts.values, whole.values, rtol=1e-4, atol=1e-5)


def test_threads_in_bfloat16_do_not_share_what_they_cast(monkeypatch):
    """Else gradients of a weight that is used often depended on which thread was first."""
    monkeypatch.setenv("LUDORY_NUM_THREADS", "4")
    torch.manual_seed(0)
    weight, rows = (0.1 * torch.randn(32, 32)).requires_grad_(), torch.randn(64, 32)

    def losses(start: int, stop: int) -> list[torch.Tensor]:
        with precise(rows.device, "bf16"):
            now = rows[start:stop]
            for _ in range(20):
                now = torch.tanh(now @ weight + now)
            return [now.float().square().sum()]

    def gradient() -> torch.Tensor:
        backward(losses, len(rows), [weight], rows_per_thread=16)
        return weight.grad

    expected = gradient()
    assert all(torch.equal(gradient(), expected) for _ in range(40))
