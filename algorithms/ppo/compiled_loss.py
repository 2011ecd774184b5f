"""`compiled_loss`: `ppo_loss` and its gradient in one compiled pass, behind a network that PyTorch runs on the CPU.

PyTorch alone takes some fifteen operations for each head and direction, each a walk through memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx

from ludory.agents.networks.fast.head_terms import flat_rows
from ludory.agents.networks.layers.distribution import MaskedHeads

from .kernels import loss_gradient
from .loss import Coefficients, PPOLoss, PPOMinibatch


def compiled_loss(policy: MaskedHeads, values: Tensor, decisions: PPOMinibatch, coefficients: Coefficients) -> PPOLoss:
    """As `ppo_loss`, on the CPU; only the logits of `policy` and `values` receive gradients, and only first derivatives exist.

    Rows with a weight must all have the same one, as a minibatch without importance weights has.
    """
    apply: Any = _Loss.apply
    loss, *reported = apply(policy.logits, values, policy.mask, policy.sizes, decisions, coefficients)
    return PPOLoss(loss, *reported)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        logits: Tensor,
        values: Tensor,
        mask: Tensor,
        sizes: tuple[int, ...],
        decisions: PPOMinibatch,
        coefficients: Coefficients,
    ) -> tuple[Tensor, ...]:
        flat, wanted = flat_rows(logits), values.detach().reshape(-1).contiguous().numpy()
        weights = decisions.weights.reshape(-1).numpy()
        order = np.flatnonzero(weights)
        share = weights[order[0]] if len(order) else np.float32(0)
        used = np.empty((0, len(sizes)), bool) if decisions.used is None else flat_rows(decisions.used)
        old = decisions.log_probs if decisions.used is None else decisions.log_probs * decisions.used
        columns = old.sum(-1), decisions.advantages, decisions.returns
        teacher = np.empty((0, 0), np.float32) if decisions.teacher is None else flat_rows(decisions.teacher.logits)
        data = (
            np.packbits(flat_rows(mask), axis=1),
            flat_rows(decisions.actions),
            *(column.reshape(-1).contiguous().numpy() for column in columns),
            teacher,
            used,
        )
        value_weight = coefficients.vf_coef / coefficients.value_scale**2
        settings = coefficients.clip_range, coefficients.ent_coef, value_weight, coefficients.kl_coef
        by_logits, by_values, sums = np.zeros_like(flat), np.zeros_like(wanted), np.zeros(6)
        heads = np.array(sizes, np.int64)
        out = flat, wanted, by_logits, by_values, sums
        loss_gradient(heads, data, order, share, tuple(map(np.float32, settings)), *out)
        gradients = torch.from_numpy(by_logits).view(logits.shape), torch.from_numpy(by_values).view(values.shape)
        ctx.save_for_backward(*gradients)
        policy, value, entropy, _, _, teacher_kl = means = sums * float(share)
        loss = policy + value_weight * value - coefficients.ent_coef * entropy + coefficients.kl_coef * teacher_kl
        found = tuple(logits.new_tensor(number) for number in (loss, *means))
        ctx.mark_non_differentiable(*found[1:])
        return found

    @staticmethod
    def backward(ctx: BackwardCFunction, by_loss: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        saved: tuple[Tensor, ...] = ctx.saved_tensors
        by_logits, by_values = saved
        # losses of parts of a minibatch are added, so that this is 1
        if by_loss != 1:
            by_logits, by_values = by_loss * by_logits, by_loss * by_values
        return by_logits, by_values, None, None, None, None
