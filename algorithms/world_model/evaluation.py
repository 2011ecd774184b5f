"""Pass@1 and Pass@k over rooms, with errors over rooms, beside random play and the optimum on the same rooms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError


class Estimate(NamedTuple):
    """A mean over rooms."""

    mean: float
    stderr: float
    """Standard error of the mean over rooms; NaN with one room."""
    rooms: int


def pass_at_k(successes: NDArray[np.int64], samples: int, k: int) -> NDArray[np.float64]:
    """(R,): chance that at least one of k attempts succeeds, drawn without replacement from `samples` of each room.

    1 - C(n - c, k) / C(n, k) with n samples and c successes (arXiv:2107.03374); for k = n this is "any of them".

    Args:
        successes: (R,) number c of successes in each room.
        samples: n.
        k: attempts.

    Raises:
        OptionError: k is not in 1..n, or a count is not in 0..n.
    """
    counts = np.asarray(successes)
    if not 1 <= k <= samples:
        raise OptionError(f"k={k}: must lie in [1, {samples}], the samples of each room")
    if counts.size and not (counts.min() >= 0 and counts.max() <= samples):
        raise OptionError(f"successes {counts.min()}..{counts.max()}: must lie in 0..{samples}")
    table = np.array([1 - math.comb(samples - c, k) / math.comb(samples, k) for c in range(samples + 1)])
    return np.asarray(table[counts.astype(np.int64)], np.float64)


def estimate(values: NDArray[np.float64]) -> Estimate:
    """Mean and standard error over rooms; values: (R,)."""
    n = len(values)
    if n == 0:
        return Estimate(math.nan, math.nan, 0)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan, n)


def paired(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> Estimate:
    """The difference of two players on the same rooms, room by room."""
    return estimate(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64))
