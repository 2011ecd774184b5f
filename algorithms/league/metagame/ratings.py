"""Ratings from results of pairs: Elo, Bradley-Terry and alpha-rank."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]

CHESS = 400 / math.log(10)
"""From natural-log strengths to chess Elo; AlphaStar's numbers, 1/(1 + e^(-d/400)), are ln 10 times larger."""
_SETTLED = 1e-12
"""Iterations stop when no strength changes by more; rounding errors are far smaller."""


class BradleyTerry(NamedTuple):
    """Strengths t with P(i beats j) = 1/(1 + e^-(t_i - t_j)), natural logarithms, mean 0."""

    strength: Floats
    """[n]."""
    deviation: Floats
    """[n], standard errors from the Fisher information, for independent games."""

    @property
    def elo(self) -> Floats:
        """[n], chess scale around 0."""
        return self.strength * CHESS

    @property
    def elo_deviation(self) -> Floats:
        """[n], chess scale."""
        return self.deviation * CHESS


def sequential_elo(players: int, games: ArrayLike, k: float = 16.0, start: float = 1200.0) -> Floats:
    """Elo after each game in turn. It depends on their order, and grows without bound for pairs of which one always wins.

    Args:
        players: number of players.
        games: [g, 3] rows of player i, player j, points of i (1, 0.5 or 0).
        k: largest change by one game.
        start: initial rating.

    Returns:
        [players].
    """
    elo = np.full(players, float(start))
    for i, j, score in np.asarray(games, np.float64).reshape(-1, 3):
        one, other = int(i), int(j)
        # the expected score by the chess formula, odds 10^(d/400)
        change = k * (score - 1 / (1 + 10 ** ((elo[other] - elo[one]) / 400)))
        elo[one] += change
        elo[other] -= change
    return elo


def bradley_terry(points: ArrayLike, virtual_draws: float = 1.0) -> BradleyTerry:
    """Maximum likelihood by the MM algorithm (doi:10.1214/aos/1079120141), where virtual draws keep every strength finite.

    Args:
        points: [n, n], wins and half the draws of row against column; the diagonal is not read.
        virtual_draws: draws added to each pair.

    Raises:
        OptionError: not a square table of finite numbers >= 0, or virtual_draws is not above 0.
    """
    scores = np.array(points, np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or not (np.isfinite(scores) & (scores >= 0)).all():
        raise OptionError(
            f"points have shape {scores.shape}: must be (n, n), finite and not below 0; 0 where not played"
        )
    if not virtual_draws > 0:
        raise OptionError(
            f"virtual_draws={virtual_draws}: must be above 0, else a player that only won has no strength"
        )
    # a virtual draw is half a point for both
    scores += virtual_draws / 2
    np.fill_diagonal(scores, 0)
    games, won = scores + scores.T, scores.sum(1)
    strength = np.zeros(len(scores))
    if len(scores) < 2:
        return BradleyTerry(strength, strength)
    change, room = math.inf, np.empty_like(games)  # one buffer: the table of thousands of players is large
    while change > _SETTLED:
        gamma = np.exp(strength)
        np.add(gamma[:, None], gamma, out=room)
        # MM: wins divided by the sum over opponents of games / (gamma_i + gamma_j)
        new = np.log(won) - np.log(np.divide(games, room, out=room).sum(1))
        # only differences count, so the mean is fixed at 0
        new -= new.mean()
        change = float(np.abs(new - strength).max(initial=0.0))
        strength = new
    return BradleyTerry(strength, _standard_errors(strength, games))


def _standard_errors(strength: Floats, games: Floats) -> Floats:
    """Standard errors of strengths with mean 0."""
    expected = 1 / (1 + np.exp(strength - strength[:, None]))
    # Fisher information of games that are decided by a logistic of the difference: n p (1 - p)
    information = -games * expected * (1 - expected)
    np.fill_diagonal(information, -information.sum(1))
    # Only the sum of all strengths has no information: with 1 in that direction the pseudo-inverse is an inverse.
    size = len(strength)
    return np.asarray(np.sqrt(np.maximum(np.diag(np.linalg.inv(information + 1 / size)) - 1 / size, 0)))


_EVEN = 1e-12


def alpha_rank(win_rate: ArrayLike, alpha: float = 10.0, population: int = 50) -> Floats:
    """Stationary distribution over residents, where a mutant replaces a resident with its fixation probability.

    Args:
        win_rate: [n, n] of row against column, n >= 1.
        alpha: intensity of selection, above 0; large values are safe, since the arithmetic is on logarithms.
        population: m individuals, at least 2.

    Returns:
        [n] with the sum 1.

    Raises:
        OptionError: an argument is out of range, or a rate is NaN.
    """
    rates = np.asarray(win_rate, np.float64)
    if rates.ndim != 2 or rates.shape[0] != rates.shape[1] or not rates.size or not np.isfinite(rates).all():
        raise OptionError(f"win_rate of shape {rates.shape}: must be (n, n) with n >= 1, every rate known")
    if not alpha > 0 or population < 2:
        raise OptionError(f"alpha={alpha}, population={population}: must be above 0, and at least 2")
    return np.asarray(np.exp(_log_stationary(_log_fixation(rates.T - rates, alpha, population))))


def _log_fixation(lead: Floats, alpha: float, m: int) -> Floats:
    """Logarithm of (1 - e^-u)/(1 - e^-mu), u = alpha lead; 1/m for even pairs. Rows: residents, columns: mutants."""
    u = alpha * np.where(np.abs(lead) < _EVEN, 1.0, lead)
    size = np.abs(u)
    log_ratio = np.log(-np.expm1(-size)) - np.log(-np.expm1(-m * size))  # with u < 0, e^((m - 1)u) times that of -u
    return np.asarray(np.where(np.abs(lead) < _EVEN, -np.log(m), log_ratio + np.where(u < 0, (m - 1) * u, 0.0)))


def _log_stationary(log_rates: Floats) -> Floats:
    """Logarithms of the stationary distribution: state reduction without subtractions (doi:10.1287/opre.33.5.1107), on logarithms.

    Rates as small as e^-5000 keep all their digits, where solving a linear system would return noise. A common factor of the rates,
    such as 1/(n - 1), changes nothing.
    """
    rates, n = log_rates.copy(), len(log_rates)
    np.fill_diagonal(rates, -np.inf)
    leaving = np.zeros(n)
    for k in range(n - 1, 0, -1):
        leaving[k] = np.logaddexp.reduce(rates[k, :k])
        through = rates[:k, k, None] + (rates[k, :k] - leaving[k])
        rates[:k, :k] = np.logaddexp(rates[:k, :k], through)
    mass = np.zeros(n)
    for k in range(1, n):
        mass[k] = np.logaddexp.reduce(mass[:k] + rates[:k, k]) - leaving[k]
    return np.asarray(mass - np.logaddexp.reduce(mass))
