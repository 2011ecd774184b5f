"""`TorchUpdate`: PPO's passes over a rollout by PyTorch, for every policy and device; with memory, over whole sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam

from ludory.agents.networks.packed_linear import unpack
from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.agents.networks.privileged_value import PrivilegedValue
from ludory.algorithms.privileged import check_seen
from ludory.algorithms.rollout import Rollout
from ludory.algorithms.threads import backward, precise

from .config import PPOConfig

Columns = dict[str, Tensor]
"""Parts of a rollout by name: [n, ...] decisions in any order, or [L, S, ...] sequences."""


class TorchUpdate:
    """`gradient` over units of the rollout, then `step`, as often as wanted. A unit is a decision, or a sequence with memory.

    Args:
        policy: what learns.
        optimizer: over its parameters.
        config: coefficients.
        rollout: with one seat per column if the policy is recurrent.
        advantages, returns: [T, B].
        value_scale: deviation that errors of the value are divided by.
        value: privileged value that learns in place of the policy's own.

    Raises:
        OptionError: the rollout has not what the privileged value sees.
    """

    def __init__(
        self,
        policy: Policy,
        optimizer: Adam,
        config: PPOConfig,
        rollout: Rollout,
        advantages: Tensor,
        returns: Tensor,
        value_scale: float = 1.0,
        value: PrivilegedValue | None = None,
    ) -> None:
        self.policy, self.optimizer, self.config, self.value_scale = policy, optimizer, config, value_scale
        self.value = value
        if value is not None:
            check_seen(rollout)
        self.parameters = [*policy.parameters(), *(value.parameters() if value else ())]
        self.axis = 1 if policy.recurrent else 0
        self.ent_coef = config.ent_coef
        valid = torch.ones_like(rollout.starts) if rollout.valid is None else rollout.valid
        parts = rollout._asdict() | {"valid": valid, "advantages": advantages, "returns": returns}
        unused = ("memory", "values", "next_values", "rewards", "terminated", "truncated")
        self.columns: Columns = {k: v for k, v in parts.items() if v is not None and k not in unused}
        self.memory = rollout.memory
        if not policy.recurrent:
            keep = valid.flatten()
            self.columns = {name: part.flatten(0, 1)[keep] for name, part in self.columns.items()}
        length = len(valid) if policy.recurrent else 1
        self.count = self.columns["returns"].shape[self.axis]
        self.batch = max(1, config.batch_size // length)

    def gradient(self, order: Tensor) -> Tensor:
        """Take the gradient of the loss over units `order`; gives the means of `LOSSES`."""
        batch = self.select(order)
        rows = batch["returns"].shape[self.axis]
        per_thread = max(1, 512 * rows // batch["returns"].numel())
        return backward(lambda start, stop: self.losses(batch, start, stop), rows, self.parameters, per_thread)

    def step(self) -> Tensor:
        """Move the weights along the gradient that was taken; gives its norm before it is shortened."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        return norm

    def finish(self) -> None:
        """Nothing to do: the weights are the policy's."""

    def select(self, order: Tensor) -> Columns:
        """Units `order`, their advantages scaled; `weights` sum to 1."""
        batch = {name: part.index_select(self.axis, order) for name, part in self.columns.items()}
        if self.memory is not None:
            batch["memory"] = self.memory[order].unsqueeze(0)
        valid, advantages = batch.pop("valid"), batch["advantages"]
        batch["weights"] = valid.float() / valid.sum().clamp(min=1)
        known = advantages[valid]
        if self.config.normalize_advantage and len(known) > 1:
            batch["advantages"] = (advantages - known.mean()) / (known.std() + 1e-8)
        return batch

    def losses(self, batch: Columns, start: int, stop: int) -> tuple[Tensor, ...]:
        """What units start to stop of a batch contribute to `LOSSES`, the first one to be differentiated."""
        config = self.config
        part = {name: column.narrow(self.axis, start, stop - start) for name, column in batch.items()}
        weights, advantages = part["weights"], part["advantages"]
        output = self._network(part)
        used = part.get("used")
        mask = unpack(part["masks"], sum(self.policy.head_sizes)).bool()
        distribution = self.policy.distribution(output.logits, mask)
        log_ratio = _summed(distribution.log_prob(part["actions"]) - part["log_probs"], used)
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range)
        policy_loss = -(weights * torch.min(advantages * ratio, advantages * clipped)).sum()
        value_loss = (weights * (output.values - part["returns"]).square()).sum()
        entropy = (weights * _summed(distribution.entropy(), used)).sum()
        total = policy_loss + config.vf_coef * value_loss / self.value_scale**2 - self.ent_coef * entropy
        teacher_kl = torch.zeros_like(total)
        if "teacher_logits" in part:
            teacher = self.policy.distribution(part["teacher_logits"], mask)
            teacher_kl = (weights * _summed(distribution.kl_from(teacher), used)).sum()
            total = total + config.kl_coef * teacher_kl
        with torch.no_grad():
            approx_kl = (weights * (ratio - 1 - log_ratio)).sum()
            clip_fraction = (weights * ((ratio - 1).abs() > config.clip_range)).sum()
        return total, policy_loss, value_loss, entropy, approx_kl, clip_fraction, teacher_kl

    def _network(self, part: Columns) -> PolicyOutput:
        """Logits and values in float32."""
        arguments: tuple[Any, ...]
        with precise(part["observations"].device, self.config.precision):
            if self.axis:
                memory = part["memory"].squeeze(0) if "memory" in part else None
                arguments = part["observations"], memory, part["starts"], part["seats"]
            else:
                arguments = part["observations"], None, part["seats"]
            if "previous" in part:
                arguments = *arguments, part["previous"]
            output: PolicyOutput = (self.policy.unroll if self.axis else self.policy)(*arguments)
            values = output.values if self.value is None else self.value(part["critic"])
        return PolicyOutput(output.logits.float(), values.float(), None)


def _summed(by_head: Tensor, used: Tensor | None) -> Tensor:
    """Sum over heads (..., H), those left out that had no effect."""
    return by_head.sum(-1) if used is None else torch.where(used, by_head, 0).sum(-1)
