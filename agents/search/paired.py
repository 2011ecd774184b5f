"""`PairedReturns`: actions compared with a baseline by their returns in the same worlds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_ROUNDS = 35
"""No action is dropped before it was tried in this many worlds."""
BEHIND = 2.5
"""An action is dropped when it is this many standard errors behind the best."""
SURE = 4.0
"""A comparison of two is over when one is better by the threshold and by this many standard errors."""
RARE = 1.0
"""Difference in points of one additional world assumed by `doubt`: a few worlds may all agree and still miss a rare disaster."""


class PairedReturns:
    """Mean returns of `count` actions; all actions that are still tried were tried in the same worlds.

    Args:
        count: number of actions.
        baseline: index of the action that the others must beat; it is never dropped.
        threshold: points by which they must beat it.
        errors: standard errors by which they must beat it as well, so that a few worlds change little.
    """

    def __init__(self, count: int, baseline: int, threshold: float, errors: float = 0.0) -> None:
        self.baseline, self.threshold, self.errors = baseline, threshold, errors
        self.tried = np.arange(count)
        """Indices of the actions that are still tried."""
        self.rounds = np.zeros(count, np.int64)
        """Number of worlds in which each action was tried."""
        self._returns, self._leads, self._squares = np.zeros(count), np.zeros(count), np.zeros(count)

    def add(self, returns: NDArray[np.float64]) -> None:
        """Add returns (n, len(tried)) of n more worlds."""
        leads = returns - returns[:, self.tried == self.baseline]
        self.rounds[self.tried] += len(returns)
        self._returns[self.tried] += returns.sum(axis=0)
        self._leads[self.tried] += leads.sum(axis=0)
        self._squares[self.tried] += (leads**2).sum(axis=0)

    @property
    def leads(self) -> NDArray[np.float64]:
        """(count,) mean return minus that of the baseline in the same worlds."""
        return self._leads / np.maximum(self.rounds, 1)

    @property
    def stderrs(self) -> NDArray[np.float64]:
        """(count,) standard errors of `leads`; infinite for fewer than two worlds."""
        return self._errors(0.0)

    @property
    def doubt(self) -> NDArray[np.float64]:
        """(count,) standard errors of `leads` if one more world were `RARE` points off the mean."""
        return self._errors(RARE**2)

    def _errors(self, more: float) -> NDArray[np.float64]:
        n = self.rounds
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.maximum(self._squares - self._leads**2 / n, 0) + more
            return np.where(n > 1, np.sqrt(squares / (n - 1) / n), np.inf)

    @property
    def values(self) -> NDArray[np.float64]:
        """(count,) mean returns: the baseline's over all its worlds, plus the lead."""
        mean: float = self._returns[self.baseline] / max(self.rounds[self.baseline], 1)
        return mean + self.leads

    def give_up(self) -> None:
        """Stop trying actions that are clearly behind the best."""
        with_head_start, errors = self._with_head_start(), self.stderrs
        best = self.tried[with_head_start[self.tried].argmax()]
        behind = with_head_start[best] - self.leads > BEHIND * np.hypot(errors, errors[best])
        keep = ~behind | (self.rounds < LEAST_ROUNDS)
        keep[self.baseline] = True
        self.tried = self.tried[keep[self.tried]]

    def halve(self) -> None:
        """Keep trying the better half of the actions other than the baseline, at least one."""
        others = self.tried[self.tried != self.baseline]
        kept = others[np.argsort(-self.leads[others], kind="stable")[: max(1, (len(others) + 1) // 2)]]
        self.tried = np.sort(np.append(kept, self.baseline))

    @property
    def settled(self) -> bool:
        """Whether one action is left to compare with the baseline, and is better by more than `SURE` standard errors."""
        others = self.tried[self.tried != self.baseline]
        if len(others) != 1 or self.rounds[others[0]] < LEAST_ROUNDS:
            return False
        return bool(self.leads[others[0]] - self.threshold > max(SURE, self.errors) * self.doubt[others[0]])

    def best(self) -> int:
        """Index of the action to play: the largest mean among the tried actions that beat the baseline, else the baseline."""
        leads, doubt = self.leads, self.doubt
        beats = (leads > self.threshold) & ((leads > self.errors * doubt) | (self.errors == 0))
        beats[self.baseline] = False
        candidates = self.tried[beats[self.tried]]
        return int(candidates[leads[candidates].argmax()]) if len(candidates) else self.baseline

    def _with_head_start(self) -> NDArray[np.float64]:
        means = self.leads
        means[self.baseline] += self.threshold
        return means
