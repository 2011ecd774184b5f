"""Weighted sums over decisions, and the means that are reported."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .loss import LossTerms
from .scores import Scores

TERMS = ("loss", "value_loss", "entropy")
SCORES = ("nll", "accuracy", "top3")


def tally_size(heads: int) -> int:
    """Entries of a `tally` of that many heads."""
    return 1 + len(TERMS) + len(SCORES) + 2 * heads


def tally(terms: LossTerms, scores: Scores, weights: Tensor) -> Tensor:
    """Weighted sums over m decisions, (7 + 2 H,) float64 on the CPU.

    The sum of weights; of `TERMS` and `SCORES`; of each head's right values where it is in use; of each head's use.
    """
    known = torch.stack([torch.ones_like(weights), terms.total, terms.value, terms.entropy], -1)
    rows = torch.cat([known, scores.columns()], -1).detach().cpu().double()
    return (rows * weights.cpu().double().unsqueeze(-1)).sum(0)


def full_tally(sums: Tensor, heads: int) -> Tensor:
    """The tally of a checkpoint, also of one from when all heads counted in every decision."""
    return torch.cat([sums, sums[:1].expand(heads)]) if sums.shape == (tally_size(heads) - heads,) else sums


def means(prefix: str, sums: Tensor, heads: Sequence[str]) -> dict[str, float]:
    """Means of a `tally` by name; where there are several heads, the accuracy of each where it is in use, and how often that is."""
    named = {name: value / sums[0] for name, value in zip((*TERMS, *SCORES), sums[1:], strict=False)}
    if len(heads) > 1:
        right, used = sums[-2 * len(heads) :].chunk(2)
        named |= {f"accuracy_{head}": right[k] / used[k] for k, head in enumerate(heads)}
        named |= {f"used_{head}": used[k] / sums[0] for k, head in enumerate(heads)}
    return {f"{prefix}{name}": float(value) for name, value in named.items()}


def score_means(prefix: str, sums: Tensor) -> dict[str, float]:
    """Means of `SCORES` of a `tally` by name."""
    return {name: value for name, value in means(prefix, sums, ()).items() if name.removeprefix(prefix) in SCORES}
