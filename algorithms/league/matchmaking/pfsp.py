"""Prioritised fictitious self-play: how likely each candidate is to be the next opponent (doi:10.1038/s41586-019-1724-z, Methods)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]
Weighting = Callable[[Floats], Floats]

NO_WEIGHT = 1e-10
"""If the weights have a smaller sum, all candidates are equally likely."""


def variance_weight(rates: Floats) -> Floats:
    """x(1 - x): opponents of similar strength."""
    return rates * (1 - rates)


def capped_weight(rates: Floats) -> Floats:
    """min(1/2, 1 - x): all unbeaten opponents alike, the others less."""
    return np.minimum(0.5, 1 - rates)


def hard_weight(rates: Floats, p: float = 2.0) -> Floats:
    """(1 - x)^p, p > 0: the opponents that win."""
    return np.asarray((1 - rates) ** p, np.float64)


def uniform_weight(rates: Floats) -> Floats:
    """1: fictitious self-play without priorities."""
    return np.ones_like(rates)


def pfsp(win_rates: ArrayLike, weight: Weighting = hard_weight) -> Floats:
    """Probability of each candidate.

    Args:
        win_rates: [n], own rate of points against each candidate, clipped to [0, 1].
        weight: maps rates to weights.

    Returns:
        [n] with the sum 1; empty without candidates; uniform if the weights add up to less than 1e-10.

    Raises:
        OptionError: a rate is NaN, or the array is not one-dimensional.
    """
    rates = np.asarray(win_rates, np.float64)
    if rates.ndim != 1 or np.isnan(rates).any():
        raise OptionError(f"win_rates={win_rates!r}: must be numbers on one axis; use 0.5 where no game was played")
    weights = weight(np.clip(rates, 0.0, 1.0))
    total = weights.sum()
    if total < NO_WEIGHT:
        return np.full(len(rates), 1.0 / max(1, len(rates)))
    return np.asarray(weights / total, np.float64)


def remove_monotonic_suffix(win_rates: ArrayLike) -> int:
    """How many of the oldest players remain without the newest ones against which the rates only fall.

    The remaining players may be forgotten ones, against which the rate is lower than against a newer one.

    Args:
        win_rates: [n], own rates against past selves, oldest first.

    Returns:
        i + 1 for the largest i >= 1 with rates[i - 1] < rates[i]; 0 if there is none.
    """
    rates = np.asarray(win_rates, np.float64)
    rises = np.flatnonzero(rates[:-1] < rates[1:])
    return int(rises[-1]) + 2 if rises.size else 0
