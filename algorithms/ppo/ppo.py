"""The learner of PPO."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from ludory.agents.networks.compiled_mlp import can_compile
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.optimiser_state import load_adam, save_adam
from ludory.algorithms.returns import gae

from .compiled import CompiledUpdate
from .config import PPOConfig
from .torch_update import TorchUpdate

LOSSES = ("loss", "policy_gradient_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
"""Means over a batch, named as in Stable-Baselines3's logs."""
APPROX_KL = LOSSES.index("approx_kl")


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
        totals = self._passes(self._update(rollout, advantages, returns), returns.numel())
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

    def _update(self, *targets: Any) -> CompiledUpdate | TorchUpdate:
        if can_compile(self.policy):
            return CompiledUpdate(self.policy, self.optimizer, self.config, *targets)
        return TorchUpdate(self.policy, self.optimizer, self.config, *targets)

    def _passes(self, update: CompiledUpdate | TorchUpdate, rows: int) -> dict[str, float]:
        """Step along minibatches of all rows, `n_epochs` times; gives the mean losses."""
        sums: Any = 0
        count, limit = 0, self.config.target_kl
        for order in self._orders(rows):
            losses = update.gradient(order)
            sums, count = sums + losses, count + 1
            if limit is not None and losses[APPROX_KL] > 1.5 * limit:
                break
            update.step()
        update.finish()
        return dict(zip(LOSSES, (sums / count).tolist(), strict=True))

    def _orders(self, rows: int) -> Iterator[Tensor]:
        for _ in range(self.config.n_epochs):
            yield from torch.randperm(rows, generator=self.generator, device=self.device).split(self.config.batch_size)
