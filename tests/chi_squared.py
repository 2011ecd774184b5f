"""Whether counts fit expected frequencies: seeds are fixed, so a test that uses it gives the same answer in every run."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def chi_squared(counts: ArrayLike, expected: ArrayLike) -> float:
    """Pearson's statistic, as standard deviations above its mean (Wilson-Hilferty's normal approximation)."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    assert np.isclose(counts.sum(), expected.sum())
    freedom = counts.size - 1
    statistic = ((counts - expected) ** 2 / expected).sum()
    spread = 2 / (9 * freedom)
    return float(((statistic / freedom) ** (1 / 3) - (1 - spread)) / np.sqrt(spread))


def assert_frequencies(counts: ArrayLike, expected: ArrayLike) -> None:
    """Fail if so great a deviation has a chance below one in thirty thousand."""
    deviation = chi_squared(counts, expected)
    assert deviation < 4, f"chi-squared is {deviation:.1f} standard deviations above its mean"
