"""The loss of imitation, per decision, and its scores: how well logits predict recorded actions, beside two baselines without a network."""

from __future__ import annotations

from collections.abc import Sequence
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


TERMS = ("loss", "value_loss", "entropy")
SCORES = ("nll", "accuracy", "top3")


class Scores(NamedTuple):
    """Of m decisions with H heads, of which only those that had an effect (`used`) count."""

    nll: Tensor  # (m,) joint negative log-probability
    top3: Tensor  # (m,) every head's action is among its three most probable values
    correct: Tensor  # (m, H) the action is the head's most probable value
    used: Tensor  # (m, H)

    def columns(self) -> Tensor:
        """(m, 3 + 2 H): NLL, joint accuracy, top-3; per head whether it is right and in use, and whether it is in use."""
        joint = torch.where(self.used, self.correct, 1).prod(-1)
        return torch.cat([torch.stack([self.nll, joint, self.top3], -1), self.correct * self.used, self.used], -1)


def score(logits: Tensor, mask: Tensor, actions: Tensor, sizes: tuple[int, ...], used: Tensor | None = None) -> Scores:
    """Scores of logits (m, A) under legal masks (m, A) for actions (m, H); ties go to the lowest value; used: (m, H), None: all."""
    ranks, used = (
        _ranks(logits, mask, actions, sizes),
        torch.ones_like(actions, dtype=torch.bool) if used is None else used,
    )
    nll = -summed(MaskedHeads(logits, mask, sizes).log_prob(actions), used)
    return Scores(nll, ((ranks < 3) | ~used).all(-1).to(nll.dtype), (ranks == 0).to(nll.dtype), used)


def prior_scores(
    counts: Tensor, mask: Tensor, actions: Tensor, sizes: tuple[int, ...], used: Tensor | None = None
) -> Scores:
    """Scores of the class prior: how often each value was taken in training, (A,), plus one, among the legal values."""
    return score((counts.float() + 1).log().expand(mask.shape), mask, actions, sizes, used)


def uniform_scores(mask: Tensor, sizes: tuple[int, ...], used: Tensor | None = None) -> Scores:
    """Expected scores of a uniform choice among the legal values."""
    legal = torch.stack([part.sum(-1) for part in mask.split(sizes, -1)], -1).float()  # (m, H)
    used = torch.ones_like(legal, dtype=torch.bool) if used is None else used
    top3 = torch.where(used, (3 / legal).clamp(max=1), 1).prod(-1)
    return Scores(summed(legal.log(), used), top3, 1 / legal, used)


def choice_scores(choices: Tensor, actions: Tensor) -> Scores:
    """Scores of a rule that takes `choices` (m,), for actions (m, 1) of one head: only its accuracy means something."""
    right = (choices.unsqueeze(-1) == actions).float()
    return Scores(torch.zeros_like(right[:, 0]), right[:, 0], right, torch.ones_like(actions, dtype=torch.bool))


def count_actions(actions: Tensor, weights: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """(A,) float64 on the CPU: weight (m, H) of each value of each head in actions (m, H)."""
    pairs = zip(actions.cpu().unbind(-1), weights.cpu().double().unbind(-1), sizes, strict=True)
    return torch.cat([torch.bincount(column, weight, minlength=size) for column, weight, size in pairs])


def _ranks(logits: Tensor, mask: Tensor, actions: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """(m, H): how many legal values of a head come before the action."""
    ranks = []
    legal = logits.float().masked_fill(~mask, -torch.inf)
    for head, part in enumerate(legal.split(sizes, -1)):
        action = actions[:, head : head + 1]
        own = part.gather(-1, action)
        below = torch.arange(part.shape[-1], device=part.device) < action
        ranks.append(((part > own) | ((part == own) & below)).sum(-1))
    return torch.stack(ranks, -1)


def tally_size(heads: int) -> int:
    """Number of entries in a `tally` of that many heads."""
    return 1 + len(TERMS) + len(SCORES) + 2 * heads


def tally(terms: LossTerms, scores: Scores, weights: Tensor) -> Tensor:
    """Weighted sums over m decisions, (7 + 2 H,) float64 on the CPU.

    They are the sums of the weights, of `TERMS`, of `SCORES`, of each head's correct values where it is in use, and of each head's use.
    """
    columns = torch.stack([torch.ones_like(weights), terms.total, terms.value, terms.entropy], -1)
    rows = torch.cat([columns, scores.columns()], -1).detach().cpu().double()
    return (rows * weights.cpu().double().unsqueeze(-1)).sum(0)


def full_tally(sums: Tensor, heads: int) -> Tensor:
    """The tally of a checkpoint; older checkpoints have no entries for the use of heads, because all heads counted."""
    return torch.cat([sums, sums[:1].expand(heads)]) if sums.shape == (tally_size(heads) - heads,) else sums


def means(prefix: str, sums: Tensor, heads: Sequence[str]) -> dict[str, float]:
    """Means of a `tally` by name; with several heads also the accuracy of each where it is in use, and how often it is in use."""
    named = {name: value / sums[0] for name, value in zip((*TERMS, *SCORES), sums[1:], strict=False)}
    if len(heads) > 1:
        right, used = sums[-2 * len(heads) :].chunk(2)
        named |= {f"accuracy_{head}": right[k] / used[k] for k, head in enumerate(heads)}
        named |= {f"used_{head}": used[k] / sums[0] for k, head in enumerate(heads)}
    named["perplexity"] = named["nll"].exp()
    return {f"{prefix}{name}": float(value) for name, value in named.items()}


def group_tally(right: Tensor, members: Tensor, legal: Tensor, weights: Tensor) -> Tensor:
    """(2 G + 2,) float64 on the CPU: by group, with members (m, G), the weight of right decisions (m,) and of all; then of decisions and legal actions."""
    weights = weights.cpu().double().unsqueeze(-1)
    weighted = members.cpu().double() * weights
    sums = (weighted * right.cpu().double().unsqueeze(-1)).sum(0), weighted.sum(0)
    return torch.cat([*sums, weights.sum(0), (legal.cpu().double().unsqueeze(-1) * weights).sum(0)])


def group_means(prefix: str, sums: Tensor, groups: Sequence[str]) -> dict[str, float]:
    """Accuracy of each group that has decisions, from a `group_tally`; of `prefix` "train/" and "val/" also shares and the mean of legal actions."""
    if not groups:
        return {}
    right, weight = sums[:-2].chunk(2)
    found = {f"accuracy_{name}": right[k] / weight[k] for k, name in enumerate(groups) if weight[k]}
    if prefix.endswith("/"):
        found |= {f"share_{name}": weight[k] / sums[-2] for k, name in enumerate(groups) if weight[k]}
        found["mean_legal"] = sums[-1] / sums[-2]
    return {f"{prefix}{name}": float(value) for name, value in found.items()}


def score_means(prefix: str, sums: Tensor) -> dict[str, float]:
    """Means of `SCORES` of a `tally` by name."""
    return {name: value for name, value in means(prefix, sums, ()).items() if name.removeprefix(prefix) in SCORES}
