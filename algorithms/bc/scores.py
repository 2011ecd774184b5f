"""How well logits predict recorded actions, and the two baselines that need no network."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.distribution import MaskedHeads


class Scores(NamedTuple):
    """Of m decisions with H heads."""

    nll: Tensor  # (m,) joint negative log-probability
    top3: Tensor  # (m,) every head's action is among its three most probable values
    correct: Tensor  # (m, H) the action is the head's most probable value

    def columns(self) -> Tensor:
        """(m, 3 + H): NLL, joint accuracy, top-3, accuracy per head."""
        joint = self.correct.prod(-1)
        return torch.cat([torch.stack([self.nll, joint, self.top3], -1), self.correct], -1)


def score(logits: Tensor, mask: Tensor, actions: Tensor, sizes: tuple[int, ...]) -> Scores:
    """Scores of logits (m, A) under legal masks (m, A) for actions (m, H); ties go to the lowest value."""
    ranks = _ranks(logits, mask, actions, sizes)
    nll = -MaskedHeads(logits, mask, sizes).log_prob(actions).sum(-1)
    return Scores(nll, (ranks < 3).all(-1).to(nll.dtype), (ranks == 0).to(nll.dtype))


def prior_scores(counts: Tensor, mask: Tensor, actions: Tensor, sizes: tuple[int, ...]) -> Scores:
    """Scores of the class prior: how often each value was taken in training, (A,), plus one, among the legal values."""
    return score((counts.float() + 1).log().expand(mask.shape), mask, actions, sizes)


def uniform_scores(mask: Tensor, sizes: tuple[int, ...]) -> Scores:
    """Expected scores of a uniform choice among the legal values."""
    legal = torch.stack([part.sum(-1) for part in mask.split(sizes, -1)], -1).float()  # (m, H)
    return Scores(legal.log().sum(-1), (3 / legal).clamp(max=1).prod(-1), 1 / legal)


def count_actions(actions: Tensor, weights: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """(A,) float64 on the CPU: weight of each value of each head in actions (m, H)."""
    columns, weights = actions.cpu().unbind(-1), weights.cpu().double()
    parts = (torch.bincount(column, weights, minlength=size) for column, size in zip(columns, sizes, strict=True))
    return torch.cat(list(parts))


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
