"""`ppo_loss`: the loss of PPO, and the only place where it is written down."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads


class PPOMinibatch(NamedTuple):
    """Decisions of a minibatch, [m] in any order or [L, S] in sequences; H heads."""

    actions: Tensor  # [..., H]
    log_probs: Tensor  # [..., H], of the policy that acted
    advantages: Tensor  # [...], scaled already where the config asks for it
    returns: Tensor  # [...]
    weights: Tensor  # [...], of the decisions in means: their sum is 1, 0 on rows without a decision
    used: Tensor | None = None  # [..., H] bool, heads that had an effect; None: all
    teacher: MaskedHeads | None = None  # a frozen policy over the same legal masks


class Coefficients(NamedTuple):
    """Weights of the terms at the current point of the run, as in `PPOConfig`."""

    clip_range: float
    vf_coef: float
    ent_coef: float
    kl_coef: float = 0.0
    value_scale: float = 1.0
    """Standard deviation that errors of the value are divided by."""


class PPOLoss(NamedTuple):
    """Scalars, named as in Stable-Baselines3's logs; the first carries the gradient."""

    loss: Tensor
    policy_gradient_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor
    teacher_kl: Tensor


class Loss(Protocol):
    """`ppo_loss`, or another loss with its arguments."""

    def __call__(
        self, policy: MaskedHeads, values: Tensor, decisions: PPOMinibatch, coefficients: Coefficients
    ) -> PPOLoss:
        """The loss of some decisions. The losses of the parts of a minibatch must add up to the loss of the whole."""


def ppo_loss(policy: MaskedHeads, values: Tensor, decisions: PPOMinibatch, coefficients: Coefficients) -> PPOLoss:
    """Clipped policy gradient, squared error of the value, entropy, and KL to a teacher where there is one.

    `kernels.py` holds a compiled twin of this function with the hash of its code. When the function changes, the twin no longer runs,
    until it is brought in line and names the new hash.

    Args:
        policy: the current distribution over logits [..., A].
        values: [...] of the current network.
        decisions: actions, advantages and returns.
        coefficients: weights of the terms.

    Source: arXiv 1707.06347, equations 7 and 9; `approx_kl` is the estimator k3 of http://joschu.net/blog/kl-approx.html.
    """

    def joint(by_head: Tensor) -> Tensor:  # [..., H] -> [...], heads without effect left out
        return by_head.sum(-1) if decisions.used is None else torch.where(decisions.used, by_head, 0).sum(-1)

    weights, advantages, clip = decisions.weights, decisions.advantages, coefficients.clip_range
    log_ratio = joint(policy.log_prob(decisions.actions) - decisions.log_probs)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    policy_loss = -(weights * torch.min(advantages * ratio, advantages * clipped)).sum()
    value_loss = (weights * (values - decisions.returns).square()).sum()
    entropy = (weights * joint(policy.entropy())).sum()
    loss = (
        policy_loss + coefficients.vf_coef * value_loss / coefficients.value_scale**2 - coefficients.ent_coef * entropy
    )
    teacher_kl = torch.zeros_like(loss)
    if decisions.teacher is not None:
        teacher_kl = (weights * joint(policy.kl_from(decisions.teacher))).sum()
        loss = loss + coefficients.kl_coef * teacher_kl
    with torch.no_grad():
        approx_kl = (weights * (ratio - 1 - log_ratio)).sum()
        clip_fraction = (weights * ((ratio - 1).abs() > clip)).sum()
    return PPOLoss(loss, policy_loss, value_loss, entropy, approx_kl, clip_fraction, teacher_kl)
