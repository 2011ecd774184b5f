"""Two players attempt the same tasks: how many only one of them solved, and whether that is significant."""

from __future__ import annotations

from math import comb, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

EXACT_BELOW = 25
"""The exact binomial test is used below this number of discordant pairs."""


class PairTable(NamedTuple):
    """Number of tasks solved by both, by neither, only by the first, only by the second."""

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
        """Share of the tasks that each solved."""
        return (self.both + self.first) / self.pairs, (self.both + self.second) / self.pairs

    @property
    def rate_errors(self) -> tuple[float, float]:
        """Standard error of each rate."""
        a, b = (sqrt(rate * (1 - rate) / self.pairs) for rate in self.rates)
        return a, b

    @property
    def lead(self) -> float:
        """The first's rate minus the second's."""
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
        """Two-sided p-value of the binomial test; None with `EXACT_BELOW` or more discordant pairs, where `z` is used."""
        discordant, fewer = self.first + self.second, min(self.first, self.second)
        if discordant >= EXACT_BELOW:
            return None
        return float(min(1.0, 2 * sum(comb(discordant, k) for k in range(fewer + 1)) / 2**discordant))


def pair_table(first: ArrayLike, second: ArrayLike) -> PairTable:
    """The table of two bool arrays (n,)."""
    a, b = np.asarray(first, bool), np.asarray(second, bool)
    return PairTable(*(int(part.sum()) for part in (a & b, ~a & ~b, a & ~b, ~a & b)))
