"""Accuracy of P(make) with fewer hands: disjoint parts of a sample compared with the whole sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import wilson
from ludory.errors import OptionError

ROUNDING = 1e-9


class ConvergencePoint(NamedTuple):
    """Statistics of parts of `samples` hands, averaged over parts (and over hands of seat 0, if there are several)."""

    samples: int
    half_width: float
    """Half-width of the 95 % interval (Wilson) of the best declaration's P(make)."""
    covered: float
    """How often that interval contains P(make) of the whole sample, which includes the part."""
    error: float
    """Root mean square difference of the two probabilities, per hand."""
    best: float
    """How often the part's best declaration is also the best of the whole sample."""
    lost: float
    """P(make) lost by choosing the part's best declaration, measured by the whole sample."""


def convergence(points: Sequence[NDArray[np.int8]], bid: int, sizes: Sequence[int]) -> list[ConvergencePoint]:
    """One `ConvergencePoint` for each of `sizes`.

    Args:
        points: for each hand (declarations, n) final points of the bidder's side, n samples each.
        bid: 30..41.
        sizes: numbers of samples, ascending; those of n and more are left out, since there is nothing to compare them with.

    Raises:
        OptionError: an invalid bid, or no size below n.
    """
    if bid not in range(30, 42):
        raise OptionError(f"bid={bid}: must lie in 30..41; all 42 points are played for by hands of their own")
    most = min(one.shape[1] for one in points)
    wanted = [size for size in sizes if 0 < size < most]
    if not wanted:
        raise OptionError(
            f"sizes={list(sizes)}: one must lie in 1..{most - 1}, below the {most} samples that there are"
        )
    return [
        ConvergencePoint(size, *np.mean([_of_hand(one >= bid, size) for one in points], axis=0).tolist())
        for size in wanted
    ]


def _of_hand(made: NDArray[np.bool_], size: int) -> tuple[float, float, float, float, float]:
    """`ConvergencePoint` of one hand without its first entry, `error` of that hand."""
    parts = made.shape[1] // size
    whole = made.mean(axis=1)
    best = int(whole.argmax())
    counts = made[:, : parts * size].reshape(len(made), parts, size).sum(axis=2)  # (declarations, parts)
    share = counts / size
    low, high = wilson(counts[best], np.full(parts, size))
    chosen = share.argmax(axis=0)
    return (
        float((high - low).mean() / 2),
        float(((low - ROUNDING <= whole[best]) & (whole[best] <= high + ROUNDING)).mean()),
        float(np.sqrt(((share[best] - whole[best]) ** 2).mean())),
        float((whole[chosen] == whole[best]).mean()),
        float((whole[best] - whole[chosen]).mean()),
    )
