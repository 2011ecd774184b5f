"""What a network learns from a search: its moves, its estimates, the returns, and the blueprint where that was kept."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.distribution import MaskedHeads

MOST_ERRORS = 5.0
"""Standard errors of advantage beyond which the weight of an override does not grow."""


class Targets(NamedTuple):
    """Of m decisions with A actions. NaN where nothing is known, also in all of a column that a log does not have."""

    actions: Tensor  # (m,) int64
    returns: Tensor  # (m,)
    value_known: Tensor  # (m,) bool
    weights: Tensor  # (m,)
    blueprint: Tensor  # (m,) the blueprint's action
    q: Tensor  # (m, A)
    q_stderr: Tensor  # (m, A), of the difference to the blueprint's action
    searched: Tensor  # (m,) bool, False for a partner's move


class Weights(NamedTuple):
    """Of the parts of the loss; see `DistillConfig`."""

    value: float
    entropy: float
    q: float
    kl: float
    override: float
    advantage: float
    partner: float
    tau: float


class Terms(NamedTuple):
    """`total` () carries the gradient; beside it rows (m,), each with the weights (m,) by which it is averaged."""

    total: Tensor
    policy: tuple[Tensor, Tensor]
    value: tuple[Tensor, Tensor]
    entropy: tuple[Tensor, Tensor]
    q: tuple[Tensor, Tensor]
    kl: tuple[Tensor, Tensor]


def overrides(targets: Targets) -> Tensor:
    """(m,) bool: the search chose another action than the blueprint's, which is known."""
    return targets.blueprint.isfinite() & (targets.blueprint != targets.actions)


def base_actions(targets: Targets) -> Tensor:
    """(m,) int64: the action from which advantages are counted: the blueprint's, or the chosen one where that is not known."""
    return torch.where(targets.blueprint.isfinite(), targets.blueprint.nan_to_num(), targets.actions.float()).long()


def advantages(targets: Targets) -> Tensor:
    """(m, A) differences of `q` to that of `base_actions`, shrunk by what their standard errors leave of them.

    d becomes d * max(0, 1 - (error / d)^2), so that noise is not imitated (the positive part of James and Stein's estimator). An action whose
    error is not known, in a row where others' are, had too few rollouts: it becomes 0. NaN where `q` is.
    """
    base = base_actions(targets)[:, None]
    difference = targets.q - targets.q.gather(1, base)
    error, has_errors = targets.q_stderr, targets.q_stderr.isfinite().any(1, keepdim=True)
    share = (1 - (error / difference) ** 2).nan_to_num(0.0, posinf=0.0, neginf=0.0).clamp(min=0)
    return torch.where(has_errors, difference * share, difference).scatter(1, base, targets.q.gather(1, base) * 0)


def soft_targets(targets: Targets, mask: Tensor, tau: float) -> tuple[MaskedHeads, Tensor]:
    """Softmax of advantage / tau over the actions that were tried, and (m,) bool: any were, the base action among them.

    Where none were it is uniform under `mask` (m, A).
    """
    advantage = advantages(targets)
    tried = advantage.isfinite()
    known = tried.any(1)
    logits = torch.where(tried, advantage / tau, 0.0)
    return MaskedHeads(logits, torch.where(known[:, None], tried, mask), (mask.shape[1],)), known


def imitation_weights(targets: Targets, weights: Weights) -> Tensor:
    """(m,) 1, on partners' moves `partner`, on overrides `override` * (1 + `advantage` * advantage in standard errors, at most 5)."""
    changed, action = overrides(targets), targets.actions[:, None]
    gain = (targets.q - targets.q.gather(1, base_actions(targets)[:, None])).gather(1, action).squeeze(1)
    certain = (
        (gain / targets.q_stderr.gather(1, action).squeeze(1)).nan_to_num(0.0, posinf=MOST_ERRORS).clamp(0, MOST_ERRORS)
    )
    factors = torch.where(changed, weights.override * (1 + weights.advantage * certain), 1.0)
    return factors * partner_weights(targets, weights.partner)


def partner_weights(targets: Targets, partner: float) -> Tensor:
    """(m,) the recorded weights, those of partners' moves times `partner`."""
    return torch.where(targets.searched, 1.0, partner) * targets.weights


def distill_loss(
    policy: MaskedHeads, values: Tensor, targets: Targets, weights: Weights, blueprint: MaskedHeads | None = None
) -> Terms:
    """The loss of m decisions.

    Cross-entropy to the action, weighted; plus mean squared error of the value; less mean entropy; plus KL from `soft_targets` and,
    on decisions in which the search kept the blueprint's action, from the blueprint's own distribution.

    Args:
        policy: over logits (m, A), one head.
        values: (m,).
        targets: what was recorded.
        weights: of the parts.
        blueprint: of the network that the search started from, where it was one.
    """
    nll = -policy.log_prob(targets.actions[:, None]).squeeze(1)
    imitated = imitation_weights(targets, weights)
    known_returns = torch.where(targets.value_known, targets.returns, values.float().detach())
    error = (values.float() - known_returns) ** 2
    entropy = policy.entropy().sum(-1)
    soft, has_q = soft_targets(targets, policy.mask, weights.tau)
    from_q = policy.kl_from(soft).sum(-1)
    kept = ~overrides(targets)
    from_blueprint = torch.zeros_like(nll) if blueprint is None else policy.kl_from(blueprint).sum(-1)
    terms = Terms(
        nll.new_zeros(()),
        (nll, imitated),
        (error, targets.weights * targets.value_known),
        (entropy, targets.weights),
        (from_q, targets.weights * has_q),
        (from_blueprint, partner_weights(targets, weights.partner) * kept * (blueprint is not None)),
    )
    total = mean(*terms.policy) - weights.entropy * mean(*terms.entropy)
    for part, weight in ((terms.value, weights.value), (terms.q, weights.q), (terms.kl, weights.kl)):
        if weight:
            total = total + weight * mean(*part)
    return terms._replace(total=total)


def mean(rows: Tensor, weights: Tensor) -> Tensor:
    """Mean of rows (m,) by weights (m,); 0 where all weights are 0."""
    return (rows * weights).sum() / weights.sum().clamp(min=torch.finfo(rows.dtype).tiny)
