"""`EvaluationResult`: the results of a set of games and their statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs.pictures import html_table
from ludory.errors import OptionError

Floats = np.float64 | NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean with its standard error and its 95 % bootstrap interval."""

    mean: float
    stderr: float
    low: float
    high: float


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float


class PairedDifference(NamedTuple):
    """Mean of the differences game by game, and its standard error; shape () or (P,)."""

    mean: Floats
    stderr: Floats


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """What `evaluate` returns. Game k is the same deal in every result with the same game, seed and `first_game`."""

    agents: tuple[str, ...]
    """Name of the agent in each seat."""
    game: str
    options: Mapping[str, Any]
    """Options of the game."""
    seed: int
    first_game: int
    shared: bool
    """True if all seats get the same return; `mean` and `stderr` then have shape ()."""
    returns: NDArray[np.float32]
    """(games, P), sum of the rewards."""
    outcomes: Mapping[str, NDArray[Any] | list[Any]]
    """Public facts of the finished games (`Look.info`) by name: arrays (games, ...) of numbers, lists of text."""
    rotated: bool = False
    """True if every agent sat in every seat: columns of `returns` are then agents, not seats."""
    counts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By agent, what it did or spent since it was made (`Agent.counts`); empty for agents that played elsewhere."""

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.returns)

    @property
    def mean(self) -> Floats:
        """Mean return: shape () if all seats share it, else (P,)."""
        return _mean(self._scored)

    @property
    def stderr(self) -> Floats:
        """Standard error of `mean`: sample standard deviation / sqrt(games); NaN for a single game."""
        return standard_error(self._scored)

    @property
    def _scored(self) -> NDArray[np.float32]:
        return self.returns[:, 0] if self.shared else self.returns

    def __repr__(self) -> str:
        numbers = zip(np.atleast_1d(self.mean), np.atleast_1d(self.stderr), strict=True)
        returns = ", ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in numbers)
        players = f"{len(self.agents)} x {self.agents[0]}" if len(set(self.agents)) == 1 else ", ".join(self.agents)
        return (
            f"<EvaluationResult of {players} in {self.game}: {self.games:,} games, return {returns} (standard error)>"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        cells = [
            (name, f"{one.mean:.3f}", f"{one.stderr:.3f}", f"{one.low:.3f} to {one.high:.3f}")
            for name, one in self._named().items()
        ]
        rows = [("", "mean", "standard error", "95 % interval"), *cells]
        heading = f"{', '.join(self.agents)}: {self.game}, {self.games:,} games, seed {self.seed}"
        return html_table(rows, heading)

    def estimates(self) -> dict[str, Estimate]:
        """Estimates of returns, of outcomes that are one number per game, and of the share of each text outcome."""
        column = "agent" if self.rotated else "seat"
        seats = {f"return of {column} {k}": self.returns[:, k] for k in range(self.returns.shape[1])}
        seats = {"return": self.returns[:, 0]} if self.shared else seats
        numbers = {name: values for name, values in self.outcomes.items() if _is_number_per_game(values)}
        texts = {name: values for name, values in self.outcomes.items() if _is_text(values)}
        shares = {
            f"{name} = {value}": np.array(values) == value
            for name, values in texts.items()
            for value in sorted(set(values))
        }
        return {name: estimate(values) for name, values in {**seats, **numbers, **shares}.items()}

    def _named(self) -> dict[str, Estimate]:
        """The estimates; those of returns also name the agent."""
        found = self.estimates()
        if self.shared:
            return found
        returns = list(found.items())[: len(self.agents)]
        named = {f"{name}, {agent}": one for (name, one), agent in zip(returns, self.agents, strict=True)}
        return named | dict(list(found.items())[len(self.agents) :])

    def summary(self) -> str:
        """A printable table: each estimate as mean +- standard error, with its 95 % interval; rows of returns name seat and agent."""
        found = self._named()
        width = max(map(len, found))
        lines = [
            f"{', '.join(self.agents)}: {self.game}, {self.games:,} games, seed {self.seed}",
            f"  {'':{width}}       mean +- standard error  [95 % interval]",
        ]
        for name, one in found.items():
            lines.append(f"  {name:{width}}  {one.mean:9.3f} +- {one.stderr:<14.3f}  [{one.low:.3f}, {one.high:.3f}]")
        return "\n".join(lines)


def estimate(values: ArrayLike) -> Estimate:
    """Mean, standard error and interval of one number per game, (games,)."""
    array = np.asarray(values, np.float64)
    return Estimate(float(array.mean()), float(standard_error(array)), *bootstrap_interval(array))


def standard_error(values: NDArray[Any]) -> Floats:
    """Sample standard deviation / sqrt(games) over the first axis; NaN for a single game."""
    count = len(values)
    if count < 2:
        return np.float64(np.nan) * _mean(values)
    spread: Floats = np.std(values, axis=0, ddof=1, dtype=np.float64)
    return np.divide(spread, np.sqrt(count))


def bootstrap_interval(values: ArrayLike, level: float = 0.95, resamples: int = 1000, seed: int = 0) -> Interval:
    """Percentile bootstrap interval of the mean of `values`, (games,); deterministic for a seed (Efron, 1979).

    A resample of n games with replacement is a multinomial draw of the counts of the distinct values.
    """
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    generator, games = np.random.default_rng(seed), int(counts.sum())
    means = [generator.multinomial(games, counts / games) @ distinct / games for _ in range(resamples)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def paired_difference(a: EvaluationResult, b: EvaluationResult) -> PairedDifference:
    """`a` minus `b`, game by game: on the same deals much more precise than two separate means.

    Raises:
        OptionError: the results come from different games.
    """
    for name in ("game", "options", "seed", "first_game", "games"):
        if getattr(a, name) != getattr(b, name):
            raise OptionError(
                f"results are paired only over the same games: {name} is {getattr(a, name)!r} in one and {getattr(b, name)!r} "
                f"in the other; evaluate both with the same game, options, games and seed"
            )
    difference = a._scored.astype(np.float64) - b._scored
    return PairedDifference(_mean(difference), standard_error(difference))


def _mean(values: NDArray[Any]) -> Floats:
    mean: Floats = np.mean(values, axis=0, dtype=np.float64)
    return mean


def _is_number_per_game(values: NDArray[Any] | list[Any]) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1


def _is_text(values: NDArray[Any] | list[Any]) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
