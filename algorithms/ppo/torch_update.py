"""`TorchUpdate`: PPO's passes over a rollout by PyTorch, for every policy and device."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim import Adam

from ludory.agents.networks.policy import Policy
from ludory.algorithms.rollout import Minibatch, Rollout, flat_columns, minibatch
from ludory.algorithms.threads import backward

from .config import PPOConfig


class TorchUpdate:
    """`gradient` over rows of the rollout, then `step`, as often as wanted."""

    def __init__(
        self, policy: Policy, optimizer: Adam, config: PPOConfig, rollout: Rollout, advantages: Tensor, returns: Tensor
    ) -> None:
        self.policy, self.optimizer, self.config = policy, optimizer, config
        self.parameters = list(policy.parameters())
        self.flat = flat_columns(rollout, advantages, returns)

    def gradient(self, order: Tensor) -> Tensor:
        """Take the gradient of the loss over rows `order`; gives the means of `LOSSES`."""
        return backward(self.losses, self.batch(order), self.parameters)

    def step(self) -> None:
        """Move the weights along the gradient that was taken."""
        torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()

    def finish(self) -> None:
        """Nothing to do: the weights are the policy's."""

    def batch(self, order: Tensor) -> Minibatch:
        """Rows `order` of the rollout, their advantages scaled."""
        batch = minibatch(self.flat, order, sum(self.policy.head_sizes))
        advantages = batch.advantages
        if not self.config.normalize_advantage or len(advantages) < 2:
            return batch
        return batch._replace(advantages=(advantages - advantages.mean()) / (advantages.std() + 1e-8))

    def losses(self, batch: Minibatch) -> tuple[Tensor, ...]:
        """`LOSSES` of a batch, the first one to be differentiated."""
        config = self.config
        output = self.policy(batch.observations)
        distribution = self.policy.distribution(output.logits, batch.masks)
        log_ratio = (distribution.log_prob(batch.actions) - batch.log_probs).sum(-1)
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range)
        policy_loss = -torch.min(batch.advantages * ratio, batch.advantages * clipped).mean()
        value_loss = torch.nn.functional.mse_loss(output.values, batch.returns)
        entropy = distribution.entropy().sum(-1).mean()
        total = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > config.clip_range).float().mean()
        return total, policy_loss, value_loss, entropy, approx_kl, clip_fraction
