"""The learner of PPO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.optimiser_state import load_adam, save_adam
from ludory.algorithms.returns import gae
from ludory.algorithms.rollout import Minibatch, minibatches
from ludory.algorithms.threads import backward

from .config import PPOConfig


class _Losses(NamedTuple):
    """Means over a batch, named as in Stable-Baselines3's logs."""

    loss: Tensor
    policy_gradient_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


APPROX_KL = _Losses._fields.index("approx_kl")


class PPO(Algorithm):
    """Clipped policy gradient on fresh data; see `PPOConfig` for its options."""

    id = "ppo-v1"
    config_class: ClassVar[type[PPOConfig]] = PPOConfig
    config: PPOConfig

    def setup(self) -> None:
        """Make the optimiser."""
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=self.config.learning_rate, eps=1e-5, fused=True)

    def training_state(self) -> dict[str, Tensor]:
        """Adam's moments."""
        return save_adam(self.optimizer)

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Take up Adam's moments."""
        load_adam(self.optimizer, state)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """One rollout, `n_epochs` passes over it."""
        config = self.config
        self._set_learning_rate()
        rollout, stats = self.sampler.collect(self.policy, config.n_steps, self.generator, on_step)
        if rollout is None:
            return None
        advantages, returns = gae(rollout.steps(), gamma=config.gamma, lam=config.gae_lambda)
        totals = self._update(
            lambda: minibatches(
                rollout, advantages, returns, self.game.facts.num_actions, config.batch_size, self.generator
            )
        )
        metrics = {f"train/{name}": value for name, value in totals.items()}
        metrics["train/explained_variance"] = float(1 - (returns - rollout.values).var() / (returns.var() + 1e-8))
        if len(stats.returns):
            metrics["rollout/ep_rew_mean"] = float(stats.returns.mean())
            metrics["rollout/ep_len_mean"] = float(stats.lengths.mean())
        return metrics

    def _set_learning_rate(self) -> None:
        scale = self.progress_remaining if self.config.anneal_learning_rate else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate * scale

    def _update(self, batches: Callable[[], Iterator[Minibatch]]) -> dict[str, float]:
        sums, count = torch.zeros(len(_Losses._fields), device=self.device), 0
        parameters = list(self.policy.parameters())
        for _ in range(self.config.n_epochs):
            for batch in batches():
                losses = backward(self._losses, self._scaled(batch), parameters)
                sums, count = sums + losses, count + 1
                if self.config.target_kl is not None and losses[APPROX_KL] > 1.5 * self.config.target_kl:
                    return self._means(sums, count)
                torch.nn.utils.clip_grad_norm_(parameters, self.config.max_grad_norm)
                self.optimizer.step()
        return self._means(sums, count)

    def _means(self, sums: Tensor, count: int) -> dict[str, float]:
        return dict(zip(_Losses._fields, (sums / count).tolist(), strict=True))

    def _scaled(self, batch: Minibatch) -> Minibatch:
        advantages = batch.advantages
        if not self.config.normalize_advantage or len(advantages) < 2:
            return batch
        return batch._replace(advantages=(advantages - advantages.mean()) / (advantages.std() + 1e-8))

    def _losses(self, batch: Minibatch) -> _Losses:
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
        return _Losses(total, policy_loss, value_loss, entropy, approx_kl, clip_fraction)
