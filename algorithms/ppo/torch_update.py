"""`TorchUpdate`: PPO's passes over a rollout by PyTorch, for every policy and device; with memory, over whole sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.algorithms.running.ranks import MinibatchPart, Ranks
from ludory.algorithms.running.threads import backward, precise
from ludory.algorithms.sampling.privileged import PrivilegedValue, check_seen
from ludory.algorithms.sampling.renaming import renamed_columns
from ludory.algorithms.sampling.rollout import Rollout
from ludory.envs.parts import Symmetry

from .captured_minibatch import CapturedMinibatches
from .config import PPOConfig
from .loss import Coefficients, Loss, PPOLoss, PPOMinibatch, ppo_loss

Columns = dict[str, Tensor]
"""Parts of a rollout by name: [n, ...] decisions in any order, or [L, S, ...] sequences."""


class TorchUpdate:
    """Alternates `gradient` over units of the rollout and `step`. A unit is a decision, or with memory a sequence.

    Args:
        policy: what learns.
        optimizer: over its parameters.
        config: coefficients.
        rollout: with one seat per column if the policy is recurrent.
        advantages, returns: [T, B].
        value_scale: standard deviation that errors of the value are divided by.
        value: privileged value that learns instead of the policy's own.
        loss: the loss.
        ranks: processes that share every minibatch; None: this one alone.

    Raises:
        OptionError: the rollout lacks the input of the privileged value.
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
        loss: Loss = ppo_loss,
        ranks: Ranks | None = None,
    ) -> None:
        self.captured: CapturedMinibatches | None = None
        """Takes whole steps as CUDA graphs, in `gradient`; `step` then only returns the norm."""
        self._taken: Tensor | None = None
        self.policy, self.optimizer, self.config, self.value_scale = policy, optimizer, config, value_scale
        self.value, self.loss, self.ranks = value, loss, ranks
        if value is not None:
            check_seen(rollout)
        self.parameters = [*policy.parameters(), *(value.parameters() if value else ())]
        self.axis = 1 if policy.recurrent else 0
        self.ent_coef, self.kl_coef = config.ent_coef, config.kl_coef
        self.symmetry: Symmetry | None = None
        """Symmetry of the game under which the next minibatches are learnt from."""
        valid = torch.ones_like(rollout.starts) if rollout.learnt is None else rollout.learnt
        parts = rollout._asdict() | {"valid": valid, "advantages": advantages, "returns": returns}
        unused = ("memory", "values", "next_values", "rewards", "terminated", "truncated", "decided")
        self.columns: Columns = {k: v for k, v in parts.items() if v is not None and k not in unused}
        self.memory = rollout.memory
        if not policy.recurrent:
            flat = {name: part.flatten(0, 1) for name, part in self.columns.items()}
            keep = None if rollout.learnt is None else valid.flatten().nonzero().squeeze(1)
            self.columns = flat if keep is None else {name: part[keep] for name, part in flat.items()}
        length = len(valid) if policy.recurrent else 1
        self.count = self.columns["returns"].shape[self.axis]
        self.batch = max(1, config.batch_size // length)

    def gradient(self, order: Tensor) -> Tensor:
        """Write the gradient of the loss over units `order` to the parameters; returns the numbers of `PPOLoss`."""
        part = MinibatchPart(0, len(order), 1.0) if self.ranks is None else self.ranks.part(len(order))
        batch = self.select(order, part)
        if self.captured is not None and (done := self.captured.learn(self, batch)):
            losses, self._taken = done
            return losses
        losses = self.backward(batch)
        return losses if self.ranks is None else self.ranks.add(self.parameters, losses, part.weight)

    def backward(self, batch: Columns, coefficients: Coefficients | None = None) -> Tensor:
        """Write the gradient of the loss of a minibatch to the parameters; `coefficients` as for `losses`."""
        rows = batch["returns"].shape[self.axis]
        per_thread = max(1, 512 * rows // batch["returns"].numel())
        return backward(
            lambda start, stop: self.losses(batch, start, stop, coefficients), rows, self.parameters, per_thread
        )

    def step(self) -> Tensor:
        """Take a step along the gradient; returns its norm before clipping."""
        if self._taken is None:
            return self.clipped_step()
        norm, self._taken = self._taken, None
        return norm

    def clipped_step(self) -> Tensor:
        """As `step`, of the gradient that the parameters hold."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        return norm

    def finish(self) -> None:
        """Nothing to do: the weights are the policy's."""

    def select(self, order: Tensor, mine: MinibatchPart | None = None) -> Columns:
        """The part `mine` of units `order`, or all; advantages are scaled, and `weights` sum to 1, over all of them."""
        own = order if mine is None else order[mine.start : mine.stop]
        batch = {name: part.index_select(self.axis, own) for name, part in self.columns.items()}
        if self.memory is not None:
            batch["memory"] = self.memory[own].unsqueeze(0)
        valid, advantages = (self.columns[name].index_select(self.axis, order) for name in ("valid", "advantages"))
        batch["weights"] = batch.pop("valid").float() / valid.sum().clamp(min=1)
        # without memory all rows are valid: no device need be asked which are
        chosen = advantages[valid] if self.axis else advantages
        if self.config.normalize_advantage and len(chosen) > 1:
            batch["advantages"] = (batch["advantages"] - chosen.mean()) / (chosen.std() + 1e-8)
        return batch if self.symmetry is None else renamed_columns(batch, self.symmetry, self.policy.head_sizes)

    def losses(self, batch: Columns, start: int, stop: int, coefficients: Coefficients | None = None) -> PPOLoss:
        """The contribution of units start to stop to the loss of a minibatch; coefficients: others than those of this point of the run."""
        config = self.config
        part = {name: column.narrow(self.axis, start, stop - start) for name, column in batch.items()}
        output = self._network(part)
        mask = unpack(part["masks"], sum(self.policy.head_sizes)).bool()
        teacher_logits = part.get("teacher_logits")
        decisions = PPOMinibatch(
            part["actions"],
            part["log_probs"],
            part["advantages"],
            part["returns"],
            part["weights"],
            part.get("used"),
            None if teacher_logits is None else self.policy.distribution(teacher_logits, mask),
        )
        if coefficients is None:
            here = self.ent_coef, self.kl_coef, self.value_scale
            coefficients = Coefficients(config.clip_range, config.vf_coef, *here)
        return self.loss(self.policy.distribution(output.logits, mask), output.values, decisions, coefficients)

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
