"""`distill_loss`: the loss of distilling a search: its moves, its estimates, the returns, and KL from the blueprint where its move was kept."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads
from ludory.algorithms.offline.batches import weighted_mean

from .config import DistillWeights

MOST_ERRORS = 5.0
"""Standard errors of advantage beyond which the weight of an override does not grow."""
MOST_POINTS, LEAST_ERROR = 5.0, 0.25
"""Limit of advantages, and the smallest standard error assumed, in points."""


class Targets(NamedTuple):
    """Recorded targets of m decisions with A actions; NaN where a value is missing, also in whole columns that a log lacks."""

    actions: Tensor  # (m,) int64
    returns: Tensor  # (m,)
    value_known: Tensor  # (m,) bool
    weights: Tensor  # (m,)
    blueprint: Tensor  # (m,) the blueprint's action
    q: Tensor  # (m, A)
    q_stderr: Tensor  # (m, A), of the difference to the blueprint's action
    searched: Tensor  # (m,) bool, False for a partner's move


class Terms(NamedTuple):
    """The loss `total` () with gradient, and the rows (m,) of its terms with the weights (m,) of their means."""

    total: Tensor
    policy: tuple[Tensor, Tensor]
    value: tuple[Tensor, Tensor]
    entropy: tuple[Tensor, Tensor]
    q: tuple[Tensor, Tensor]
    kl: tuple[Tensor, Tensor]


def overrides(targets: Targets) -> Tensor:
    """(m,) bool: the blueprint's action is known, and the search chose another."""
    return targets.blueprint.isfinite() & (targets.blueprint != targets.actions)


def base_actions(targets: Targets) -> Tensor:
    """(m,) int64: the action that advantages are relative to: the blueprint's, or the chosen one where that is unknown."""
    return torch.where(targets.blueprint.isfinite(), targets.blueprint.nan_to_num(), targets.actions.float()).long()


def advantages(targets: Targets) -> tuple[Tensor, Tensor]:
    """(m, A) differences of `q` to that of `base_actions`, at most `MOST_POINTS`, and their weights.

    A weight is 1 / (error^2 + `LEAST_ERROR`^2), 0 for actions that were not tried and for the base action. An action without an error, in a
    row where others have one, had too few rollouts and counts as not tried.
    """
    base = base_actions(targets)[:, None]
    difference = (targets.q - targets.q.gather(1, base)).clamp(-MOST_POINTS, MOST_POINTS)
    # of the base action, which the others are compared with, there is no error
    others = targets.q_stderr.scatter(1, base, torch.nan)
    # a row without errors: all of them are taken as exact
    error = torch.where(others.isfinite().any(1, keepdim=True), others, 0.0)
    tried = difference.isfinite() & error.isfinite()
    weights = torch.where(tried, 1 / (error.nan_to_num() ** 2 + LEAST_ERROR**2), 0.0).scatter(1, base, 0.0)
    return difference.nan_to_num(), weights


def advantage_error(
    policy: MaskedHeads, targets: Targets, tau: float, blueprint: MaskedHeads | None
) -> tuple[Tensor, Tensor]:
    """(m,) mean squared error, in points^2, of tau times the log-odds against the base action, and (m,) bool: anything was tried.

    Where there is a blueprint, its own log-odds are taken off. The minimum over many noisy searches is the policy proportional to
    blueprint * exp(E[advantage] / tau), the best one at a price of tau for KL from the blueprint: as the error is linear in the logits'
    differences, noise averages out, which it does not in a softmax of Q.
    """
    advantage, weights = advantages(targets)
    weights = weights * policy.mask  # a log may have numbers for illegal actions
    base = base_actions(targets)[:, None]
    odds = _log_odds(policy, base)
    if blueprint is not None:
        odds = odds - _log_odds(blueprint, base)
    squares = torch.where(weights > 0, (tau * odds - advantage) ** 2, 0.0)
    total = weights.sum(1)
    # 0 where nothing was tried, instead of 0 / 0
    return (weights * squares).sum(1) / total.clamp(min=torch.finfo(total.dtype).tiny), total > 0


def _log_odds(policy: MaskedHeads, base: Tensor) -> Tensor:
    logits = torch.where(policy.mask, policy.logits.float(), 0.0)
    return logits - logits.gather(1, base)


def imitation_weights(targets: Targets, weights: DistillWeights) -> Tensor:
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
    policy: MaskedHeads, values: Tensor, targets: Targets, weights: DistillWeights, blueprint: MaskedHeads | None = None
) -> Terms:
    """The loss of m decisions.

    Cross-entropy to the action, weighted; plus mean squared error of the value; less mean entropy; plus `advantage_error` and, on decisions
    in which the search kept the blueprint's action, KL from the blueprint's own distribution.

    Args:
        policy: over logits (m, A), one head.
        values: (m,).
        targets: the recorded targets.
        weights: weights of the terms.
        blueprint: distribution of the network that the search started from, if it was one.
    """
    nll = -policy.log_prob(targets.actions[:, None]).squeeze(1)
    imitated = imitation_weights(targets, weights)
    # no error, and no gradient, where the return is unknown
    known_returns = torch.where(targets.value_known, targets.returns, values.float().detach())
    error = (values.float() - known_returns) ** 2
    entropy = policy.entropy().sum(-1)
    from_q, has_q = advantage_error(policy, targets, weights.tau, blueprint)
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
    total = weights.move * weighted_mean(*terms.policy) - weights.entropy * weighted_mean(*terms.entropy)
    for part, weight in ((terms.value, weights.value), (terms.q, weights.q), (terms.kl, weights.kl)):
        if weight:
            total = total + weight * weighted_mean(*part)
    return terms._replace(total=total)
