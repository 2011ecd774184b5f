"""The games of a report as tables: rows of pairs with intervals, and matrices over the players that never change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.evaluation.intervals import wilson

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
    """(points + 1/2)/(games + 1): a score of exactly 0 or 1 is that of few games."""
    interval: Method
    source: Source
    """"evaluator": both sides never changed; "training": home learnt meanwhile."""


class Matrix(NamedTuple):
    """Games between the fixed players; NaN where none was played."""

    players: list[str]
    points: Floats
    """[n, n]."""
    games: Floats
    """[n, n]."""

    @property
    def rates(self) -> Floats:
        """[n, n] points per game; 0.5 on the diagonal, NaN where unknown."""
        played = self.games > 0
        rates = np.where(played, self.points / np.where(played, self.games, 1), np.nan)
        np.fill_diagonal(rates, 0.5)
        return rates

    def of(self, rows: Sequence[int] | NDArray[np.int64]) -> Matrix:
        """The same for some of the players."""
        index = np.asarray(rows, np.int64)
        table = np.ix_(index, index)
        return Matrix([self.players[row] for row in index], self.points[table], self.games[table])


@lru_cache(maxsize=1 << 14)  # few results of many pairs differ
def score(counts: Counts) -> Score | None:
    """Points per game of `counts`; None without games.

    The interval comes from resampling mirrored pairs of games where these are known and differ, since the two games of a pair have one
    start; else from Wilson's formula.
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
    """Percentiles of the mean over resampled pairs, exact: the sum of n draws has the n-th convolution power of what one draw has."""
    n = int(pairs.sum())
    spectrum = np.fft.rfft(pairs / n, 4 * n + 1) ** n
    below = np.cumsum(np.fft.irfft(spectrum, 4 * n + 1))
    low, high = (int(np.searchsorted(below, share)) / (4 * n) for share in (_TAIL, 1 - _TAIL))
    return low, high


def payoff_rows(league: LeagueInput) -> Iterator[PayoffRow]:
    """Every ordered pair that played: first the matrix, both ways, then the learners' own games."""
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
    """Games between the fixed players, in their order of age."""
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
