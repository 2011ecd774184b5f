"""E[Q] of one decision: sampled worlds, their weights, and standard errors of the means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.play.choice import Question
from ludory.agents.texas42.solver.solver import OpenHandValues, points_left
from ludory.envs import State, check_range
from ludory.envs.texas42.tiles import NELLO_HIGH, tiles_of
from ludory.envs.texas42.worlds import ENUMERATE_BELOW, Worlds, draw_distinct
from ludory.errors import OptionError

from .posterior import (
    PlayAdvantages,
    Posterior,
    WorldWeights,
    advantages,
    equal_weights,
    evidence,
    weigh,
)

Floats = NDArray[np.float64]
DISTINCT_BELOW = 1_000_000
"""Adaptive sampling draws without replacement if there are at most this many worlds, else with replacement."""


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Draw worlds until the standard errors are small. The first pipeline had `Adaptive(1000, 5000, 2_000_000, 0.1)`."""

    batch: int = 64
    minimum: int = 128
    maximum: int = 20_000
    threshold: float = 0.5
    """Largest standard error of a legal tile's mean at which sampling stops, in points."""

    def __post_init__(self) -> None:
        check_range("batch", self.batch, 1, 1_000_000)
        check_range("minimum", self.minimum, 2, 10_000_000)
        check_range("maximum", self.maximum, self.minimum, 10_000_000)
        if not self.threshold > 0:
            raise OptionError(f"threshold={self.threshold}: must be above 0")


@dataclass(frozen=True, slots=True)
class WorldSampling:
    """Which worlds E[Q] is computed from."""

    worlds: int = 50
    """Number of worlds per decision without `adaptive`."""
    enumerate_below: int = ENUMERATE_BELOW
    """Enumerate all worlds if there are at most this many."""
    adaptive: Adaptive | None = None
    posterior: Posterior | None = None
    """None: equal weights."""

    def __post_init__(self) -> None:
        check_range("worlds", self.worlds, 1, 1_000_000)
        check_range("enumerate_below", self.enumerate_below, 0, 1_000_000)


class DecisionValue(NamedTuple):
    """Value of each legal tile at one decision, from the mover's side; columns are `tiles`.

    Optima of single worlds assume that all later choices are made with open hands (strategy fusion), so their average is not a value of
    the game with hidden hands.
    """

    tiles: tuple[int, ...]
    """Ascending."""
    q: NDArray[np.int64]
    """(n, tiles) points still to be won, in each world."""
    weights: WorldWeights
    p_make: Floats
    """(tiles,) probability that the mover's side gets its contract result."""
    mean: Floats
    """(tiles,) points"""
    variance: Floats
    """(tiles,) weighted variance of Q over worlds."""
    sem: Floats
    """(tiles,) standard error of the mean; 0 if all worlds were solved, infinite for one world of several."""
    worlds_total: int
    """Number of worlds that agree with what the mover knows."""
    enumerated: bool
    converged: bool
    """Whether sampling reached the threshold, or no adaptive sampling was needed."""

    @property
    def samples(self) -> int:
        """Number of solved worlds."""
        return len(self.q)

    def density(self) -> Floats:
        """(tiles, 85) probability of each value from -42 to 42."""
        return np.array([np.bincount(column + 42, self.weights.weights, 85) for column in self.q.T])


def value_of(
    solver: OpenHandValues, state: State, i: int, question: Question, sampling: WorldSampling
) -> DecisionValue:
    """E[Q] of the decision of the seat to move in game `i`, which `question` describes.

    Raises:
        OptionError: nello or sevens, where tiles have no value in points.
    """
    if question.decl >= NELLO_HIGH:
        raise OptionError(f"declaration {question.decl} is not played for points; E[Q] is of declarations 0 to 9")
    drawn = _Drawn(solver, state, i, question, sampling)
    adaptive = sampling.adaptive
    # no more than would be drawn anyway
    if drawn.worlds.count <= max(sampling.enumerate_below, 1 if adaptive else sampling.worlds):
        drawn.add(drawn.worlds.all())
        return drawn.result(converged=True, share=1.0)
    if adaptive is None:
        others = drawn.worlds.choose(sampling.worlds, question.key, 0)
        drawn.add(others)
        distinct = drawn.worlds.count <= 8 * sampling.worlds
        return drawn.result(converged=True, share=len(others) / drawn.worlds.count if distinct else 0.0)
    for others in _batches(drawn.worlds, adaptive, question.key):
        drawn.add(others)
        if drawn.count >= min(adaptive.minimum, drawn.worlds.count):
            share = drawn.count / drawn.worlds.count if _each_once(drawn.worlds) else 0.0
            found = drawn.result(converged=True, share=share)
            if found.sem.max() < adaptive.threshold:
                return found
    return found._replace(converged=False)


def _each_once(worlds: Worlds) -> bool:
    """Whether worlds are drawn without replacement."""
    return worlds.count <= DISTINCT_BELOW


def _batches(worlds: Worlds, adaptive: Adaptive, key: int) -> Iterator[NDArray[np.int32]]:
    """Batches of at most `maximum` worlds in total, without replacement if there are at most `DISTINCT_BELOW`."""
    distinct = _each_once(worlds)
    most = min(adaptive.maximum, worlds.count) if distinct else adaptive.maximum
    if distinct:
        ranks = np.empty(most, np.int64)
        draw_distinct(np.int64(key), np.arange(worlds.count), ranks)
    for number, first in enumerate(range(0, most, adaptive.batch)):
        stop = min(first + adaptive.batch, most)
        yield worlds.of_ranks(ranks[first:stop]) if distinct else worlds.sample(stop - first, key + (number << 32))


def standard_error(variance: Floats, ess: float) -> Floats:
    """Standard error of means from the variance over worlds and their effective sample size; infinite for a single world."""
    return np.sqrt(variance / (ess - 1)) if ess > 1 + 1e-6 else np.full(np.shape(variance), np.inf)


class _Drawn:
    """The worlds of a decision solved so far."""

    def __init__(
        self, solver: OpenHandValues, state: State, i: int, question: Question, sampling: WorldSampling
    ) -> None:
        self.worlds, self.q, self.count = Worlds(question.known), list[NDArray[np.int8]](), 0
        self._solver, self._question, self._rules = solver, question, sampling.posterior
        self._plays = evidence(state, i, question.seat, self._rules.window) if self._rules else []
        self._seen: list[list[PlayAdvantages]] = []
        self._left = 0

    def add(self, others: NDArray[np.int32]) -> None:
        held = self._question.worlds(others)
        self.q.append(self._solver.q_values(held)[1])
        self._left = int(points_left(held.row(0))[0])
        if self._rules:
            self._seen.append(advantages(self._solver, self._question, held.held, self._plays))
        self.count += len(others)

    def result(self, converged: bool, share: float) -> DecisionValue:
        """share: fraction of all worlds drawn without replacement; 0 if drawn with replacement."""
        question, weights = self._question, self._weights()
        tiles = tuple(tiles_of(question.legal))
        q = question.side * np.concatenate(self.q)[:, list(tiles)].astype(np.int64)
        omega = weights.weights
        mean = omega @ q
        variance = np.maximum(omega @ q**2 - mean**2, 0.0)
        # without replacement: the part that is left is all that can change the mean
        sem = standard_error(variance, weights.ess) * np.sqrt(max(0.0, 1 - share)) if share < 1 else variance * 0
        need = min(question.bid, 42) - question.banked
        # of the points left the side gets (left + q) / 2
        made = (1 if question.declares else -1) * q >= 2 * need - self._left  # by the bidder's side
        p_make = omega @ (made if question.declares else ~made)
        return DecisionValue(tiles, q, weights, p_make, mean, variance, sem, self.worlds.count, share == 1.0, converged)

    def _weights(self) -> WorldWeights:
        if not self._rules or not self._plays:
            return equal_weights(self.count)
        joined = [
            PlayAdvantages(np.concatenate([part[k].q for part in self._seen]), play.tile)
            for k, play in enumerate(self._plays)
        ]
        return weigh(joined, self.count, self._rules)
