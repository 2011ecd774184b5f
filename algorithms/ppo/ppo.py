"""The learner of PPO."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.optimiser_state import load_adam, save_adam
from ludory.algorithms.returns import gae
from ludory.algorithms.rollout import Minibatch, minibatches

from .config import PPOConfig


class _Losses(NamedTuple):
    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


class PPO(Algorithm):
    """Clipped policy gradient on fresh data; see `PPOConfig` for its options."""

    id = "ppo-v1"
    config_class: ClassVar[type[PPOConfig]] = PPOConfig
    config: PPOConfig

    def setup(self) -> None:
        """Make the optimiser."""
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=self.config.learning_rate, eps=1e-5, fused=True)
        self.n_updates = 0

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
        advantages, returns = gae(
            rollout.rewards,
            rollout.values,
            rollout.next_values,
            rollout.terminated,
            rollout.truncated,
            gamma=config.gamma,
            lam=config.gae_lambda,
        )
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

    def _update(self, batches: Callable[[], Any]) -> dict[str, float]:
        sums: Tensor | None = None
        count = 0
        for _ in range(self.config.n_epochs):
            for batch in batches():
                losses = self._losses(batch)
                if self.config.target_kl is not None and losses.approx_kl > 1.5 * self.config.target_kl:
                    return self._means(sums, count, losses)
                self.optimizer.zero_grad()
                losses.total.backward()
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.config.max_grad_norm)
                self.optimizer.step()
                now = torch.stack([part.detach() for part in losses])
                sums, count = now if sums is None else sums + now, count + 1
        self.n_updates += count
        return self._means(sums, count, losses)

    def _means(self, sums: Tensor | None, count: int, last: _Losses) -> dict[str, float]:
        means = (torch.stack([part.detach() for part in last]) if sums is None else sums / count).tolist()
        return dict(
            zip(
                ("loss", "policy_gradient_loss", "value_loss", "entropy", "approx_kl", "clip_fraction"),
                means,
                strict=True,
            )
        )

    def _losses(self, batch: Minibatch) -> _Losses:
        config = self.config
        output = self.policy(batch.observations)
        distribution = self.policy.distribution(output.logits, batch.masks)
        log_ratio = (distribution.log_prob(batch.actions) - batch.log_probs).sum(-1)
        ratio = log_ratio.exp()
        advantages = batch.advantages
        if config.normalize_advantage and len(advantages) > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range)
        policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
        value_loss = torch.nn.functional.mse_loss(output.values, batch.returns)
        entropy = distribution.entropy().sum(-1).mean()
        total = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > config.clip_range).float().mean()
        return _Losses(total, policy_loss, value_loss, entropy, approx_kl, clip_fraction)
