"""Which groups of episodes are learnt from: those whose members differ, since equal returns have nothing to teach."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .advantages import group_moments
from .config import FILTERS, SCORES, Filter, Score

SLACK = 0.01
"""What `top_p` may miss of its share, in units of the score."""


class Groups(NamedTuple):
    """What filters know of G groups."""

    ids: Tensor
    """[G] int64, ascending."""
    scores: Tensor
    """[G] float, of which the largest are kept."""
    kept: Tensor
    """[G] bool."""
    members: Tensor
    """[B] bool: the episodes of the groups that are kept."""


def group_scores(
    kind: Score, returns: Tensor, groups: Tensor, entropies: Tensor | None = None, lengths: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Score of every group.

    Args:
        kind: "variance": sample standard deviation of the returns; "mean" of the returns; "entropy", "length": mean of these.
        returns: [B] float, of every episode.
        groups: [B] int64.
        entropies: [B] float, mean over the tokens of each episode.
        lengths: [B] float, sampled tokens of each episode.

    Returns:
        ids [G] int64, ascending, and scores [G].

    Raises:
        ValueError: an unknown kind, or one whose numbers are missing.
    """
    of_episodes = {"variance": returns, "mean": returns, "entropy": entropies, "length": lengths}.get(kind)
    if of_episodes is None:
        raise ValueError(f"score={kind!r}: must be one of {', '.join(SCORES)}, with the numbers that it needs")
    _, mean, std = group_moments(of_episodes, groups)
    ids, index = groups.unique(return_inverse=True)
    found = torch.empty(len(ids), dtype=mean.dtype, device=mean.device)
    found[index] = std if kind == "variance" else mean
    return ids, found


def kept_groups(scores: Tensor, rule: Filter, share: float = 1.0) -> Tensor:
    """Which groups to keep.

    Args:
        scores: [G] float.
        rule: "none": all. "top_k": the best `share` of all groups, rounded down, at least one. "top_p": the best ones, until their
            scores add up to `share` of the total less 0.01; groups with a score of 0 or less are never kept. "top_p_softmax": the best
            ones, until their softmax adds up to `share`. "min_p": scores of at least `share` times the largest, if that is above 0.
        share: in [0, 1].

    Returns:
        [G] bool; possibly all False. Of equal scores the earlier group is kept.

    Raises:
        ValueError: an unknown rule, or a share outside [0, 1].
    """
    if rule not in FILTERS or not 0 <= share <= 1:
        raise ValueError(f"filter={rule!r}, share={share}: filter is one of {', '.join(FILTERS)}, share is in [0, 1]")
    count = len(scores)
    if rule == "none" or not count:
        return torch.ones_like(scores, dtype=torch.bool)
    if rule == "min_p":
        return (scores >= share * scores.max() - 1e-10) & (scores.max() > 1e-10)
    order = scores.argsort(descending=True, stable=True)
    if rule == "top_k":
        number = max(1, int(share * count + 1e-9))
    elif rule == "top_p":
        number = _reaching(scores[order].clamp(min=0), share * float(scores.clamp(min=0).sum()) - SLACK)
        number = min(number, int((scores > 1e-10).sum()))
    else:
        number = _reaching(scores.softmax(0)[order], share)
    kept = torch.zeros_like(scores, dtype=torch.bool)
    kept[order[:number]] = True
    return kept


def filter_groups(
    rule: Filter,
    share: float,
    score: Score,
    returns: Tensor,
    groups: Tensor,
    entropies: Tensor | None = None,
    lengths: Tensor | None = None,
) -> Groups:
    """`group_scores` and `kept_groups` in one.

    Raises:
        ValueError: as these.
    """
    ids, scores = group_scores(score, returns, groups, entropies, lengths)
    kept = kept_groups(scores, rule, share)
    return Groups(ids, scores, kept, torch.isin(groups, ids[kept]))


def _reaching(parts: Tensor, wanted: float) -> int:
    """How many of the first parts are needed to reach a sum, at most all."""
    if wanted <= 0:
        return 0
    return min(len(parts), int((parts.double().cumsum(0) < wanted - 1e-9).sum()) + 1)
