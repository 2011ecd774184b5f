"""Whether counts fit expected frequencies. Seeds are fixed wherever it is used, so that every run gives the same answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def chi_squared(counts: ArrayLike, expected: ArrayLike, freedom: int | None = None) -> float:
    """Pearson's statistic, as standard deviations above its mean (Wilson-Hilferty's normal approximation).

    freedom: degrees of freedom; None: one less than there are counts.
    """
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    degrees = counts.size - 1 if freedom is None else freedom
    statistic = ((counts - expected) ** 2 / expected).sum()
    spread = 2 / (9 * degrees)
    return float(((statistic / degrees) ** (1 / 3) - (1 - spread)) / np.sqrt(spread))
