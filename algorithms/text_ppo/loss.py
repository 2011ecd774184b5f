"""`token_loss`: the loss of PPO and GRPO over tokens, and the only place where it is written down."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .config import LOSS_MEANS, LossMean

LOG_RATIO_LIMIT = 20.0
"""Log-ratios are cut here on both sides, so that a ratio is always finite."""
KL_LIMIT = 5.0
"""Differences of log-probabilities in the KL are cut here on both sides."""
IMPORTANCE_LIMIT = 2.0
"""Largest weight of `importance="truncated"`."""


class TokenOutputs(NamedTuple):
    """What the current network says about m sampled tokens; these carry gradients."""

    log_probs: Tensor  # [m]
    entropies: Tensor  # [m], of the distribution that the token was drawn from
    values: Tensor | None  # [m], of the state in which it was drawn; None: there is no critic


class TokenTargets(NamedTuple):
    """What is known of these tokens before the update."""

    log_probs: Tensor
    """[m], of the learner before its first step."""
    advantages: Tensor
    """[m]."""
    weights: Tensor
    """[m], of the tokens in means; they add up to 1 over a minibatch, and are 0 on tokens that are not learnt from."""
    values: Tensor | None = None
    """[m], of the learner before its first step."""
    returns: Tensor | None = None
    """[m]."""
    reference: Tensor | None = None
    """[m], log-probabilities of the model that the policy stays close to."""
    importance: Tensor | None = None
    """[m], factors of the policy's loss, see `importance_weights`."""


class TokenCoefficients(NamedTuple):
    """Weights and limits of the terms, as in `TextPPOConfig`."""

    clip: tuple[float, float] = (0.2, 0.28)
    """How far the ratio may fall below and rise above 1."""
    dual_clip: float | None = 3.0
    """With a negative advantage A, the objective of a token never falls below -dual_clip |A|. None: no such limit."""
    value_clip: float | None = 0.5
    """How far the value may move in one update. None: no such limit."""
    value: float = 1.0
    entropy: float = 0.001
    kl: float = 0.0


class TokenLoss(NamedTuple):
    """Scalars; only the first carries a gradient."""

    loss: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    kl: Tensor
    """To the reference."""
    approx_kl: Tensor
    """To the policy before the update."""
    clip_fraction: Tensor
    dual_clip_fraction: Tensor


def token_loss(outputs: TokenOutputs, targets: TokenTargets, coefficients: TokenCoefficients) -> TokenLoss:
    """Clipped policy gradient, clipped error of the value, entropy, and KL to a reference.

    Losses of the parts of a minibatch add up to the loss of the whole.

    Source: arXiv:1707.06347, equations 7 and 9, with separate limits below and above; dual clip: arXiv:1912.09729, equation 5;
    estimator k3 of the KL: http://joschu.net/blog/kl-approx.html.
    """
    used = targets.weights != 0

    def mean(
        per_token: Tensor,
    ) -> Tensor:  # a select: whatever stands on unused tokens, also NaN, neither counts nor has a gradient
        return (targets.weights[used] * per_token).sum()

    advantages = targets.advantages[used]
    log_ratio = (outputs.log_probs - targets.log_probs)[used].clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    ratio = log_ratio.exp()
    plain = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - coefficients.clip[0], 1 + coefficients.clip[1])
    per_token = torch.max(plain, clipped)
    beyond = torch.zeros_like(per_token, dtype=torch.bool)
    if coefficients.dual_clip is not None:
        limit = -advantages * coefficients.dual_clip
        beyond = (advantages < 0) & (per_token > limit)
        per_token = torch.where(beyond, limit, per_token)
    if targets.importance is not None:
        per_token = per_token * targets.importance[used]
    policy_loss = mean(per_token)
    entropy = mean(outputs.entropies[used])
    loss = policy_loss - coefficients.entropy * entropy
    value_loss, kl = torch.zeros_like(loss), torch.zeros_like(loss)
    if outputs.values is not None and targets.values is not None and targets.returns is not None:
        value_loss = mean(_value_error(outputs.values[used], targets.values[used], targets.returns[used], coefficients))
        loss = loss + coefficients.value * value_loss
    if targets.reference is not None:
        kl = mean(k3(outputs.log_probs[used], targets.reference[used]))
        loss = loss + coefficients.kl * kl
    with torch.no_grad():
        approx_kl = mean(ratio - 1 - log_ratio)
        clip_fraction, dual = mean((clipped > plain).to(ratio.dtype)), mean(beyond.to(ratio.dtype))
    parts = (part.detach() for part in (policy_loss, value_loss, entropy, kl, approx_kl, clip_fraction, dual))
    return TokenLoss(loss, *parts)


def k3(log_probs: Tensor, reference: Tensor) -> Tensor:
    """Estimate of KL(policy to reference) from tokens of the policy: exp(d) - d - 1 >= 0 with d = reference - log_probs cut to [-5, 5]."""
    difference = (reference - log_probs).clamp(-KL_LIMIT, KL_LIMIT)
    return difference.exp() - difference - 1


def importance_weights(learner: Tensor, sampler: Tensor, limit: float = IMPORTANCE_LIMIT) -> Tensor:
    """min(exp(learner - sampler), limit) per token: corrects for a sampler whose log-probabilities differ from the learner's."""
    return (learner - sampler).clamp(max=math.log(limit)).exp()


def token_weights(
    decided: Tensor, sequences: Tensor, loss_mean: LossMean = "token", constant: float | None = None
) -> Tensor:
    """Weights of the tokens of a minibatch.

    Args:
        decided: [m] bool, the tokens that are learnt from.
        sequences: [m] int64, the sequence of each token.
        loss_mean: "token": every token counts the same; "sequence": every sequence does, and within it every token; "constant": sums of
            sequences are divided by `constant`, so that long ones count more.
        constant: for "constant", usually the longest possible sequence.

    Returns:
        [m] float32, 0 where not decided. All 0 if nothing is.

    Raises:
        ValueError: an unknown `loss_mean`, or "constant" without a positive constant.
    """
    if loss_mean not in LOSS_MEANS:
        raise ValueError(f"loss_mean={loss_mean!r}: must be one of {', '.join(LOSS_MEANS)}")
    if loss_mean == "constant" and not (constant or 0) > 0:
        raise ValueError(f'loss_mean="constant" needs a positive constant, got {constant}')
    chosen = decided.float()
    if loss_mean == "token":
        return chosen / chosen.sum().clamp(min=1)
    _, index = sequences.unique(return_inverse=True)
    lengths = torch.bincount(index, weights=chosen.double()).float()
    number = (lengths > 0).sum().clamp(min=1)
    if loss_mean == "constant":
        assert constant is not None
        return chosen / (number * constant)
    return chosen / (number * lengths.clamp(min=1)[index])


def _value_error(values: Tensor, before: Tensor, returns: Tensor, coefficients: TokenCoefficients) -> Tensor:
    error = (values - returns).square()
    if coefficients.value_clip is not None:
        near = before + (values - before).clamp(-coefficients.value_clip, coefficients.value_clip)
        error = torch.max(error, (near - returns).square())
    return error / 2
