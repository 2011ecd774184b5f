"""REINFORCE with a learnt baseline (Williams 1992), as short as it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.nn.functional import mse_loss

from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.sampling.rollout import minibatches


class Reinforce(Algorithm):
    """One gradient step per iteration of 16 decisions in every game."""

    id = "nim-reinforce-v1"

    def setup(self) -> None:
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        rollout, stats = self.sampler.collect(self.policy, 16, self.generator, on_step)
        if rollout is None:
            return None
        gains, returns = rollout.gae(gamma=1.0, lam=1.0)
        (batch,) = minibatches(rollout, gains, returns, self.game.facts.num_actions, returns.numel(), self.generator)
        output = self.policy(batch.observations)
        log_prob = self.policy.distribution(output.logits, batch.masks).log_prob(batch.actions).sum(-1)
        loss = mse_loss(output.values, batch.returns) - (log_prob * batch.advantages).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"rollout/ep_rew_mean": float(stats.returns.mean())}
