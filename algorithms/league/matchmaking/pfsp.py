"""Prioritised fictitious self-play: how likely each candidate is to be the next opponent (doi:10.1038/s41586-019-1724-z, Methods)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]
Weighting = Callable[[Floats], Floats]

NO_WEIGHT = 1e-10
"""Weights with a smaller sum say nothing: all candidates are then equally likely."""


def variance(rates: Floats) -> Floats:
    """x(1 - x): opponents of one's own strength."""
    return rates * (1 - rates)


def linear(rates: Floats) -> Floats:
    """1 - x."""
    return 1 - rates


def linear_capped(rates: Floats) -> Floats:
    """min(1/2, 1 - x): all that one does not beat alike, the others less."""
    return np.minimum(0.5, 1 - rates)


def hard(rates: Floats, p: float = 2.0) -> Floats:
    """(1 - x)^p: the opponents that one loses to."""
    return np.asarray((1 - rates) ** p, np.float64)


def squared(rates: Floats) -> Floats:
    """(1 - x)^2."""
    return hard(rates)


def uniform(rates: Floats) -> Floats:
    """1: fictitious self-play without priorities."""
    return np.ones_like(rates)


WEIGHTINGS: dict[str, Weighting] = {
    "variance": variance,
    "linear": linear,
    "linear_capped": linear_capped,
    "squared": squared,
    "hard": hard,
    "uniform": uniform,
}


def weighting(name: str, p: float = 2.0) -> Weighting:
    """The weighting called `name`; `p` is the exponent of "hard".

    Raises:
        OptionError: there is no such weighting, or p is not positive.
    """
    if name not in WEIGHTINGS:
        raise OptionError(f"weighting {name!r}: must be one of {', '.join(WEIGHTINGS)}")
    if not p > 0:
        raise OptionError(f"p={p}: must be above 0")
    return partial(hard, p=p) if name == "hard" else WEIGHTINGS[name]


def pfsp(win_rates: ArrayLike, weight: Weighting = squared) -> Floats:
    """Probability of each candidate.

    Args:
        win_rates: [n], own rate of points against each candidate, clipped to [0, 1].
        weight: from rates to weights.

    Returns:
        [n] with the sum 1; empty without candidates; uniform where the weights add up to less than 1e-10.

    Raises:
        OptionError: a rate is NaN, or there is not one axis.
    """
    rates = np.asarray(win_rates, np.float64)
    if rates.ndim != 1 or np.isnan(rates).any():
        raise OptionError(f"win_rates={win_rates!r}: must be numbers on one axis; where no game was played take 0.5")
    weights = weight(np.clip(rates, 0.0, 1.0))
    total = weights.sum()
    if total < NO_WEIGHT:
        return np.full(len(rates), 1.0 / max(1, len(rates)))
    return np.asarray(weights / total, np.float64)


def remove_monotonic_suffix(win_rates: ArrayLike) -> int:
    """How many of the oldest players are left once those that one beats less and less are taken from the end.

    What remains are players against which one has got worse than against a newer one: forgotten ones.

    Args:
        win_rates: [n], own rates against past selves, oldest first.

    Returns:
        i + 1 for the largest i >= 1 with rates[i - 1] < rates[i]; 0 if there is none.
    """
    rates = np.asarray(win_rates, np.float64)
    rises = np.flatnonzero(rates[:-1] < rates[1:])
    return int(rises[-1]) + 2 if rises.size else 0
