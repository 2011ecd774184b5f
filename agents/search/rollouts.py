"""`RolloutSearch`: the action with the best return if everybody plays the blueprint after it, in worlds drawn from a belief.

`PairedReturns` compares the actions with a baseline by their returns in the same worlds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import hash_rows
from ludory.errors import OptionError

from .belief import Draw
from .blueprint import Blueprint

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


ROUNDS_DRAWN_AT_ONCE = 1000

DrawWorlds = Callable[[int, int], Draw]
"""`draw(count, key)`: worlds of one belief, a function of `key`."""


@dataclass(frozen=True, slots=True)
class SearchDecision:
    """Outcome of the search before one move; A actions."""

    action: int
    blueprint_action: int
    values: NDArray[np.float64]
    """(A,) mean return from here on; NaN for illegal actions."""
    stderrs: NDArray[np.float64]
    """(A,) standard error of the difference from the blueprint action in the same worlds; NaN for illegal actions."""
    counts: NDArray[np.int64]
    """(A,) number of worlds in which each action was tried."""
    range_size: int | None
    """Number of hidden states considered possible; None if they are not counted."""

    @property
    def rollouts(self) -> int:
        """Games played to their end."""
        return int(self.counts.sum())

    @property
    def gain(self) -> float:
        """Value of the action minus that of the blueprint's; biased upwards by choosing the best, unless `confirm` was set."""
        return float(self.values[self.action] - self.values[self.blueprint_action])


class SearchResult(NamedTuple):
    """Outcome of a search among `legal` actions."""

    legal: NDArray[np.int64]
    blueprint_action: int
    paired: PairedReturns

    @property
    def action(self) -> int:
        """What to play."""
        return int(self.legal[self.paired.best()])

    def decision(self, actions: int, values: NDArray[np.float64], range_size: int | None) -> SearchDecision:
        """The outcome over all `actions` ids; `values` are those of the legal ones."""
        every, errors, counts = np.full(actions, np.nan), np.full(actions, np.nan), np.zeros(actions, np.int64)
        every[self.legal], errors[self.legal], counts[self.legal] = values, self.paired.stderrs, self.paired.rounds
        return SearchDecision(self.action, self.blueprint_action, every, errors, counts, range_size)


class RolloutSearch:
    """Plays every legal action in the same drawn worlds and keeps the blueprint's unless another is significantly better.

    Args:
        blueprint: plays every seat after the action.
        rollouts: games played out per decision, shared by the legal actions.
        threshold: points by which an action must be better.
        errors: standard errors by which it must be better as well.
        seconds: time limit of a search; None: no limit.
        halving: after each of log2(actions) equal parts of the rollouts, keep only the better half of the actions (successive
            halving, Karnin et al., ICML 2013), so that most rollouts compare the contenders; stop as soon as one is surely better.

    Raises:
        OptionError: a value that is not allowed.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        rollouts: int,
        threshold: float,
        errors: float,
        seconds: float | None,
        halving: bool = False,
    ) -> None:
        if not isinstance(rollouts, int) or rollouts < 1:
            raise OptionError(f"rollouts={rollouts!r}: must be an integer of at least 1")
        if threshold < 0:
            raise OptionError(f"threshold={threshold!r}: must be at least 0 points")
        if errors < 0:
            raise OptionError(f"errors={errors!r}: must be at least 0 standard errors")
        if seconds is not None and seconds <= 0:
            raise OptionError(f"seconds={seconds!r}: must be above 0, or none")
        self.blueprint, self.rollouts, self.seconds = blueprint, rollouts, seconds
        self.threshold, self.errors, self.halving = threshold, errors, halving

    def run(
        self, draw: DrawWorlds, legal: NDArray[np.int64], seat: int, key: int, wanted: int | None = None
    ) -> SearchResult:
        """Search for `seat`, which is to move.

        wanted: if only this action matters, the search may stop as soon as it is dropped, and returns a different one.
        """
        # after so many halvings one action is left
        phases = max(1, math.ceil(math.log2(len(legal)))) if self.halving else 1
        rounds = max(self.rollouts // phases // len(legal), 1)
        drawn = draw(min(rounds, ROUNDS_DRAWN_AT_ONCE), key)
        # the blueprint sees what the seat sees, and that is the same in all worlds
        blueprint_action = self.blueprint.move(drawn.worlds[:1], seat, drawn.memories[0])
        paired = PairedReturns(len(legal), int(np.searchsorted(legal, blueprint_action)), self.threshold, self.errors)
        started, done, first = time.monotonic(), 0, 0
        while len(paired.tried) > 1 and not (self.halving and paired.settled):
            if done == rounds:
                phases -= 1
                if not phases:
                    break
                paired.halve()
                # what dropped actions would have taken goes to the others
                left = self.rollouts - int(paired.rounds.sum())
                rounds += max(left // phases // len(paired.tried), 1)
            if self.seconds is not None and done and time.monotonic() - started > self.seconds:
                break
            # worlds are drawn in parts: a search that stops early does not need all
            if done - first == len(drawn.worlds):
                first = done
                drawn = draw(min(rounds - done, ROUNDS_DRAWN_AT_ONCE), int(hash_rows(key, first)))
            more = min(self.blueprint.rounds_between_checks, rounds - done)
            block = slice(done - first, min(done - first + more, len(drawn.worlds)))
            # the same worlds for all: differences vary far less than returns
            paired.add(self.blueprint.play(Draw(drawn.worlds[block], drawn.memories[block]), legal[paired.tried], seat))
            paired.give_up()
            done = first + block.stop
            # whatever is chosen now, it is not `wanted`
            if wanted is not None and wanted not in legal[paired.tried]:
                break
        return SearchResult(legal, blueprint_action, paired)

    def confirmed(self, draw: DrawWorlds, found: SearchResult, seat: int, key: int) -> NDArray[np.float64]:
        """Values of the legal actions; that of the best one is measured again in as many fresh worlds as it was tried in."""
        values, best, baseline = found.paired.values, found.paired.best(), found.paired.baseline
        if best != baseline:
            # the best of many noisy means is too high on average; fresh worlds do not know that it was chosen
            fresh = draw(int(found.paired.rounds[best]), int(hash_rows(key, -1)))
            returns = self.blueprint.play(fresh, found.legal[[baseline, best]], seat)
            values[best] = values[baseline] + (returns[:, 1] - returns[:, 0]).mean()
        return values
