"""Confidence intervals of shares, and of means that may be looked at after every game."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEAST_GAMES = 30
"""Games before which nothing is decided: the interval relies on the central limit theorem."""
TUNED_FOR = 500
"""Number of games at which the interval is narrowest."""
Z95 = 1.959963984540054
"""Normal quantile of a two-sided 95 % interval."""


class ShareInterval(NamedTuple):
    """Lower and upper end, of the shape of the input."""

    low: Floats
    high: Floats


def wilson(points: ArrayLike, games: ArrayLike, z: float = Z95) -> ShareInterval:
    """Wilson's score interval (doi:10.1080/01621459.1927.10502953); (0, 1) where no game was played.

    Args:
        points: wins and half the draws, any shape.
        games: of the same shape.
        z: normal quantile.
    """
    won, played = np.asarray(points, np.float64), np.asarray(games, np.float64)
    n = np.where(played > 0, played, 1.0)
    rate = won / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(rate * (1 - rate), 0) / n + z * z / (4 * n * n))
    low = np.where(played > 0, np.clip(middle - half, 0, 1), 0.0)
    return ShareInterval(low, np.where(played > 0, np.clip(middle + half, 0, 1), 1.0))


class SequentialInterval(NamedTuple):
    """A mean and an interval that holds the true one, at all numbers of games at once, with the chosen probability."""

    mean: float
    low: float
    high: float
    games: int

    @property
    def decided(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.games >= LEAST_GAMES and not self.low <= 0 <= self.high


def sequential_interval(values: ArrayLike, alpha: float = 0.05) -> SequentialInterval:
    """The asymptotic confidence sequence for the mean of independent values (n,).

    Unlike a usual interval it may be computed after every value, and sampling may stop whenever one likes: the probability that it ever
    misses the mean is about `alpha`. It is wider for that. Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform central limit
    theory and asymptotic confidence sequences, arXiv 2103.06476, theorem 2.2. Infinite for fewer than two values.
    """
    found = np.asarray(values, np.float64)
    n = len(found)
    mean = float(found.mean()) if n else 0.0
    if n < 2:
        return SequentialInterval(mean, -math.inf, math.inf, n)
    rho = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / TUNED_FOR
    grown = n * rho + 1
    radius = float(found.std(ddof=1)) * math.sqrt(2 * grown / (n * n * rho) * math.log(math.sqrt(grown) / alpha))
    return SequentialInterval(mean, mean - radius, mean + radius, n)
