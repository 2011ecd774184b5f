"""The loss of imitation, per decision: masked cross-entropy over heads, value error, entropy bonus."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads


class LossTerms(NamedTuple):
    """Per decision, (m,) each; `total` carries the gradient."""

    total: Tensor
    nll: Tensor
    value: Tensor
    entropy: Tensor


def imitation_loss(
    policy: MaskedHeads,
    values: Tensor,
    actions: Tensor,
    returns: Tensor,
    *,
    label_smoothing: float,
    value_coef: float,
    entropy_coef: float,
    imitated: Tensor | None = None,
    used: Tensor | None = None,
) -> LossTerms:
    """Loss terms of m decisions.

    The target of a head is (1 - e) on its recorded value plus e / n on each of its n legal values: illegal values have no
    share in it. Heads that had an effect are summed.

    Args:
        policy: distribution over logits (m, A).
        values: (m,).
        actions: (m, H) recorded.
        returns: (m,) recorded; only read where `value_coef` is not 0.
        label_smoothing: e.
        value_coef: weight of (value - return) squared.
        entropy_coef: weight of the entropy, taken off.
        imitated: (m,) bool, False where only the value is learnt; None: everywhere.
        used: (m, H) bool, where a head had an effect; None: everywhere.
    """
    log_p = policy.log_prob(actions)
    cross_entropy = -log_p
    if label_smoothing:
        cross_entropy = (1 - label_smoothing) * cross_entropy + label_smoothing * _spread(policy)
    entropy = summed(policy.entropy(), used)
    value = (values.float() - returns) ** 2 if value_coef else torch.zeros_like(entropy)
    total = summed(cross_entropy, used) - entropy_coef * entropy
    if imitated is not None:
        total = torch.where(imitated, total, 0)
    total = total + value_coef * value
    return LossTerms(total, -summed(log_p.detach(), used), value.detach(), entropy.detach())


def summed(by_head: Tensor, used: Tensor | None) -> Tensor:
    """(m,): the sum of (m, H) over the heads in use."""
    return (by_head if used is None else torch.where(used, by_head, 0)).sum(-1)


def _spread(policy: MaskedHeads) -> Tensor:
    """(m, H): cross-entropy against the uniform distribution over legal values."""
    uniform = MaskedHeads(torch.zeros(policy.mask.shape, device=policy.mask.device), policy.mask, policy.sizes)
    return policy.kl_from(uniform) + uniform.entropy()
