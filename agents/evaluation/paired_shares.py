"""Two players that both try the same tasks: how many only one of them did, and whether that is chance."""

from __future__ import annotations

from math import comb, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

EXACT_BELOW = 25
"""With fewer discordant pairs the exact binomial test is used."""


class PairTable(NamedTuple):
    """How often both did it, neither, only the first, only the second."""

    both: int
    neither: int
    first: int
    second: int

    @property
    def pairs(self) -> int:
        """Number of tasks."""
        return sum(self)

    @property
    def rates(self) -> tuple[float, float]:
        """Share of the tasks that each did."""
        return (self.both + self.first) / self.pairs, (self.both + self.second) / self.pairs

    @property
    def rate_errors(self) -> tuple[float, float]:
        """Standard error of each rate."""
        a, b = (sqrt(rate * (1 - rate) / self.pairs) for rate in self.rates)
        return a, b

    @property
    def lead(self) -> float:
        """The first's rate less the second's."""
        return (self.first - self.second) / self.pairs

    @property
    def lead_error(self) -> float:
        """Standard error of `lead`, over pairs."""
        return sqrt(max((self.first + self.second) / self.pairs - self.lead**2, 0) / self.pairs)

    @property
    def z(self) -> float:
        """McNemar's statistic (doi:10.1007/BF02295996), without correction; 0 if no pair is discordant."""
        discordant = self.first + self.second
        return (self.first - self.second) / sqrt(discordant) if discordant else 0.0

    @property
    def exact_p(self) -> float | None:
        """Two-sided p of the binomial test; None from `EXACT_BELOW` discordant pairs on, where `z` says it."""
        discordant, fewer = self.first + self.second, min(self.first, self.second)
        if discordant >= EXACT_BELOW:
            return None
        return float(min(1.0, 2 * sum(comb(discordant, k) for k in range(fewer + 1)) / 2**discordant))


def pair_table(first: ArrayLike, second: ArrayLike) -> PairTable:
    """The table of two arrays (n,) of bool."""
    a, b = np.asarray(first, bool), np.asarray(second, bool)
    return PairTable(*(int(part.sum()) for part in (a & b, ~a & ~b, a & ~b, ~a & b)))
