"""Counts that must fit expected frequencies: seeds are fixed, so a test that uses it gives the same answer in every run."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ludory.testing.properties.hidden import chi_squared

__all__ = ["assert_frequencies", "chi_squared"]


def assert_frequencies(counts: ArrayLike, expected: ArrayLike) -> None:
    """Fail if so great a deviation has a chance below one in thirty thousand."""
    assert np.isclose(np.sum(counts), np.sum(expected))
    deviation = chi_squared(counts, expected)
    assert deviation < 4, f"chi-squared is {deviation:.1f} standard deviations above its mean"
