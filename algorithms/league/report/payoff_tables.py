"""The games of a report as tables: rows of pairs with intervals, and a matrix over the fixed players."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import wilson

from .input import Counts, LeagueInput

Floats = NDArray[np.float64]
Source = Literal["evaluator", "training"]
Method = Literal["bootstrap over mirrored pairs", "Wilson"]

_TAIL = 0.025


class Score(NamedTuple):
    """Points per game with a 95 % interval."""

    value: float
    low: float
    high: float
    method: Method


class PayoffRow(NamedTuple):
    """Games of one player against another."""

    home: str
    away: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    low: float
    high: float
    shrunk: float
    """(points + 1/2)/(games + 1): a score of exactly 0 or 1 comes from few games."""
    interval: Method
    source: Source
    """"evaluator": neither player changed; "training": home was learning."""


class SmallestRate(NamedTuple):
    """A player's smallest win rate."""

    rate: float
    against: str
    games: int
    """Against that opponent."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Games between the fixed players."""

    players: list[str]
    points: Floats
    """[n, n]."""
    games: Floats
    """[n, n]."""

    @cached_property
    def rates(self) -> Floats:
        """[n, n] points per game; 0.5 on the diagonal, NaN without games."""
        played = self.games > 0
        rates = np.where(played, self.points / np.where(played, self.games, 1), np.nan)
        np.fill_diagonal(rates, 0.5)
        return rates

    def of(self, rows: Sequence[int] | NDArray[np.int64]) -> Matrix:
        """The matrix of some of the players."""
        index = np.asarray(rows, np.int64)
        table = np.ix_(index, index)
        return Matrix([self.players[row] for row in index], self.points[table], self.games[table])

    def smallest_rate(self, row: int, columns: NDArray[np.int64]) -> SmallestRate | None:
        """The smallest rate of a player against some of the others; None without games against them."""
        games = self.games[row]
        known = columns[(columns != row) & (games[columns] > 0)]
        if not len(known):
            return None
        worst = int(known[self.rates[row, known].argmin()])
        return SmallestRate(float(self.rates[row, worst]), self.players[worst], int(games[worst]))


def clear_rates(league: LeagueInput, table: Matrix) -> Floats:
    """[n, n] points per game where the 95 % interval does not hold 1/2; 1/2 where it does, NaN without games."""
    place, rates = {id: row for row, id in enumerate(table.players)}, table.rates.copy()
    for (home, away), counts in league.matrix.items():
        found = score(counts)
        if found and home in place and away in place and found.low <= 0.5 <= found.high:
            rates[place[home], place[away]] = rates[place[away], place[home]] = 0.5
    return rates


@lru_cache(maxsize=1 << 14)  # few results of many pairs differ
def score(counts: Counts) -> Score | None:
    """Points per game of `counts` with an interval; None without games.

    The two games of a mirrored pair have one start. So the interval comes from resampling pairs where they are known and differ, and
    otherwise from Wilson's formula.
    """
    if counts.score is None:
        return None
    pairs = np.array(counts.pairs or (), np.float64)
    if (pairs > 0).sum() > 1 and 2 * pairs.sum() == counts.games:
        return Score(counts.score, *_bootstrap(pairs), "bootstrap over mirrored pairs")
    games = float(pairs.sum()) if pairs.size else counts.games  # pairs that all ended alike count once each
    interval = wilson(counts.score * games, games)
    return Score(counts.score, float(interval.low), float(interval.high), "Wilson")


def _bootstrap(pairs: Floats) -> tuple[float, float]:
    """Exact percentiles of the mean over resampled pairs: the sum of n draws has the n-th convolution power of one draw's distribution."""
    n = int(pairs.sum())
    spectrum = np.fft.rfft(pairs / n, 4 * n + 1) ** n
    below = np.cumsum(np.fft.irfft(spectrum, 4 * n + 1))
    low, high = (int(np.searchsorted(below, share)) / (4 * n) for share in (_TAIL, 1 - _TAIL))
    return low, high


def payoff_rows(league: LeagueInput) -> Iterator[PayoffRow]:
    """All ordered pairs that played: first the matrix, both ways, then the learners' games."""
    for (home, away), counts in league.matrix.items():
        yield from _rows(home, away, counts, "evaluator")
        yield from _rows(away, home, counts.mirrored, "evaluator")
    for (home, away), counts in league.training.items():
        yield from _rows(home, away, counts, "training")


def _rows(home: str, away: str, counts: Counts, source: Source) -> Iterator[PayoffRow]:
    found = score(counts)
    if found:
        shrunk = (counts.points + 0.5) / (counts.games + 1)
        results = counts.games, counts.wins, counts.draws, counts.losses
        yield PayoffRow(home, away, *results, found.value, found.low, found.high, shrunk, found.method, source)


def matrix(league: LeagueInput) -> Matrix:
    """Games between the fixed players, ordered by age."""
    players = [player.id for player in league.players if player.fixed]
    place = {id: number for number, id in enumerate(players)}
    points, games = np.zeros((2, len(players), len(players)))
    for (home, away), counts in league.matrix.items():
        row, column = place[home], place[away]
        points[row, column] += counts.points
        points[column, row] += counts.mirrored.points
        games[row, column] += counts.games
        games[column, row] += counts.games
    return Matrix(players, points, games)
