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
    return 1 + len(TERMS) + len(SCORES) + heads


def tally(terms: LossTerms, scores: Scores, weights: Tensor) -> Tensor:
    """(7 + H,) float64 on the CPU: the sum of weights, then weighted sums of `TERMS`, `SCORES` and the accuracy of each head."""
    known = torch.stack([torch.ones_like(weights), terms.total, terms.value, terms.entropy], -1)
    rows = torch.cat([known, scores.columns()], -1).detach().cpu().double()
    return (rows * weights.cpu().double().unsqueeze(-1)).sum(0)


def means(prefix: str, sums: Tensor, heads: Sequence[str]) -> dict[str, float]:
    """Means of a `tally` by name; the accuracy of each head where there are several."""
    names = (*TERMS, *SCORES, *(f"accuracy_{head}" for head in heads if len(heads) > 1))
    values = (sums[1 : 1 + len(names)] / sums[0]).tolist()
    return {f"{prefix}{name}": value for name, value in zip(names, values, strict=True)}


def score_means(prefix: str, sums: Tensor) -> dict[str, float]:
    """Means of `SCORES` of a `tally` by name."""
    return {name: value for name, value in means(prefix, sums, ()).items() if name.removeprefix(prefix) in SCORES}
