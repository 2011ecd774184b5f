"""`actor_critic_loss`: the loss of V-trace and of league learners, and the only place where it is written down.

V-trace and UPGO policy gradients, value, KL to a teacher, entropy. An unused head (`head_mask` False) adds 0 to log-ratios and to every
term. Every mean divides by the number of valid rows. Groups of heads: "joint" is one ratio for all heads, "split" one per head, so that each
head is clipped by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.fast.head_terms import head_terms
from ludory.agents.networks.layers.distribution import MaskedHeads

from ..losses.returns import Steps, close_holes
from ..losses.targets import ActorCriticTargets, actor_critic_targets
from .config import LossWeights


class ActorCriticLoss(NamedTuple):
    """Scalars, but for `log_ratios`; `total` carries the gradient."""

    total: Tensor
    pg: Tensor
    upgo: Tensor
    value: Tensor
    kl: Tensor
    entropy: Tensor
    log_ratios: Tensor
    """[T, B, H] of each head, log pi - log mu; 0 where the head was not used."""


def actor_critic_loss(
    policy: MaskedHeads,
    values: Tensor,
    steps: Steps,
    actions: Tensor,
    log_behaviour: Tensor,
    head_mask: Tensor,
    teacher: MaskedHeads | None,
    weights: LossWeights,
    groups: Sequence[Sequence[int]] | str = "split",
    decided: Tensor | None = None,
    discount_per: str = "decision",
    rows: int | None = None,
) -> ActorCriticLoss:
    """The loss of a batch of sequences; targets are under stop-gradient.

    Args:
        policy: distribution over logits [T, B, A].
        values: [T, B] with gradient, V(s_t).
        steps: rewards, ends and the same values (without gradient).
        actions: [T, B, H].
        log_behaviour: [T, B, H] log-probabilities of the policy that acted, per head.
        head_mask: [T, B, H] bool, the head had an effect at this step.
        teacher: frozen policy over the same legal masks; None: no KL.
        weights: coefficients.
        groups: "joint", "split", or a partition of the heads.
        decided: [T, B] bool, False where a seat waited, which has no loss; None: every valid row is a decision.
        discount_per: what the discount counts, "decision" or "step"; see `returns.close_holes`.
        rows: decisions that means are over, where these sequences are a part of a batch; None: those of these sequences.

    Raises:
        ValueError: no valid row, a partition that leaves out or repeats a head, or as the functions of `returns`.

    Source: doi:10.1038/s41586-019-1724-z (Methods); V-trace arXiv 1802.01561.
    """
    heads = len(policy.sizes)
    valid = torch.ones_like(steps.terminated) if steps.valid is None else steps.valid
    valid = valid if decided is None else valid & decided
    rows = int(valid.sum()) if rows is None else rows
    if not rows:
        raise ValueError("a batch without valid rows has no loss; skip it")
    partition = _partition(groups, heads)
    log_p, normalised_entropy, kl_from_teacher = head_terms(policy, actions, teacher)
    used = head_mask & valid.unsqueeze(-1)
    log_ratio = torch.where(head_mask, log_p.detach() - log_behaviour, 0)
    log_rhos = torch.stack([log_ratio[..., list(group)].sum(-1) for group in partition], -1)
    closed, index = close_holes(steps, decided, gamma=weights.gamma, discount_per=discount_per)
    targets = actor_critic_targets(
        closed,
        index.gather(log_rhos),
        gamma=index.gamma,
        lam=weights.lam,
        vtrace_lam=weights.vtrace_lam,
        rho_bar=weights.rho_bar,
        c_bar=weights.c_bar,
        pg_rho_bar=weights.pg_rho_bar,
    )
    targets = ActorCriticTargets(*map(index.scatter, targets))
    log_used = torch.where(used, log_p, 0)
    by_group = torch.stack([log_used[..., list(group)].sum(-1) for group in partition], -1)
    pg, up = (-(gain * by_group).sum() / rows for gain in (targets.pg_advantages, targets.upgo_advantages))
    value = torch.where(valid, (targets.value_targets - values) ** 2, 0).sum() / (2 * rows)
    entropy = torch.where(used, normalised_entropy, 0).sum() / rows
    kl = torch.where(used, kl_from_teacher, 0).sum() / rows
    total = weights.c_pg * pg + weights.c_upgo * up + weights.c_value * value
    total = total + weights.c_kl * kl - weights.c_entropy * entropy
    return ActorCriticLoss(total, pg.detach(), up.detach(), value.detach(), kl.detach(), entropy.detach(), log_ratio)


def _partition(groups: Sequence[Sequence[int]] | str, heads: int) -> list[Sequence[int]]:
    if groups in ("joint", "split"):
        return [range(heads)] if groups == "joint" else [[head] for head in range(heads)]
    if isinstance(groups, str) or sorted(head for group in groups for head in group) != list(range(heads)):
        raise ValueError(f"groups={groups!r}: must be 'joint', 'split' or a partition of the heads 0..{heads - 1}")
    return list(groups)
