"""Ratings from results of pairs: Elo, Bradley-Terry and Glicko. `multiplayer_ratings` rates games with more than two seats."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]

CHESS = 400 / math.log(10)
"""From natural-log strengths to chess Elo; AlphaStar's numbers, 1/(1 + e^(-d/400)), are ln 10 times larger."""
_GLICKO = math.log(10) / 400
# 173.7178 = 400 / ln 10: Glicko-2 works on the natural scale.
_GLICKO2 = 173.7178
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


class Glicko(NamedTuple):
    """A rating with its standard deviation and, in Glicko-2, the volatility."""

    rating: float = 1500.0
    deviation: float = 350.0
    volatility: float = 0.06


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


def glicko1(player: Glicko, ratings: ArrayLike, deviations: ArrayLike, scores: ArrayLike, c: float = 0.0) -> Glicko:
    """One rating period of Glicko-1 (glicko.net/glicko/glicko.pdf); the volatility is unchanged.

    Args:
        player: before the period.
        ratings: [k] of the opponents.
        deviations: [k] of the opponents.
        scores: [k], 1, 0.5 or 0.
        c: growth of the deviation per period, up to 350, before its games count.
    """
    rating, deviation = player.rating, min(350.0, math.hypot(player.deviation, c))
    others, spreads, points = (np.asarray(array, np.float64) for array in (ratings, deviations, scores))
    # g discounts opponents whose own rating is uncertain
    g = 1 / np.sqrt(1 + 3 * (_GLICKO * spreads / math.pi) ** 2)
    expected = 1 / (1 + np.exp(-_GLICKO * g * (rating - others)))
    precision = 1 / deviation**2 + _GLICKO**2 * float((g**2 * expected * (1 - expected)).sum())
    gain = _GLICKO / precision * float((g * (points - expected)).sum())
    return Glicko(rating + gain, math.sqrt(1 / precision), player.volatility)


def glicko2(player: Glicko, ratings: ArrayLike, deviations: ArrayLike, scores: ArrayLike, tau: float = 0.5) -> Glicko:
    """One rating period of Glicko-2 (glicko.net/glicko/glicko2.pdf); without games only the deviation grows.

    Args:
        player: before the period.
        ratings: [k] of the opponents.
        deviations: [k] of the opponents.
        scores: [k], 1, 0.5 or 0.
        tau: limits the change of the volatility, 0.3 to 1.2.
    """
    mu, phi = (player.rating - 1500) / _GLICKO2, player.deviation / _GLICKO2
    others, spreads = (np.asarray(ratings, np.float64) - 1500) / _GLICKO2, np.asarray(deviations, np.float64) / _GLICKO2
    if not others.size:
        # step 6 of the description: a period without games
        return player._replace(deviation=_GLICKO2 * math.hypot(phi, player.volatility))
    g = 1 / np.sqrt(1 + 3 * (spreads / math.pi) ** 2)
    expected = 1 / (1 + np.exp(-g * (mu - others)))
    # v of the description, the variance of the rating from the games alone
    spread = 1 / float((g**2 * expected * (1 - expected)).sum())
    surprise = float((g * (np.asarray(scores, np.float64) - expected)).sum())
    volatility = _volatility(player.volatility, spread * surprise, phi, spread, tau)
    phi = 1 / math.sqrt(1 / (phi**2 + volatility**2) + 1 / spread)
    return Glicko(1500 + _GLICKO2 * (mu + phi**2 * surprise), _GLICKO2 * phi, volatility)


def _volatility(sigma: float, delta: float, phi: float, spread: float, tau: float) -> float:
    """Step 5 of Glickman's description: the Illinois method on the logarithm of the variance, to 1e-12."""
    # a = ln(sigma^2); `slope` is f of step 5, whose root is the new a
    start = math.log(sigma**2)

    def slope(x: float) -> float:
        e = math.exp(x)
        return e * (delta**2 - phi**2 - spread - e) / (2 * (phi**2 + spread + e) ** 2) - (x - start) / tau**2

    low = start
    if delta**2 > phi**2 + spread:
        high = math.log(delta**2 - phi**2 - spread)
    else:
        # no surprise: the bracket goes down from a in steps of tau until f changes its sign
        k = 1
        while slope(start - k * tau) < 0:
            k += 1
        high = start - k * tau
    at_low, at_high = slope(low), slope(high)
    while abs(high - low) > 1e-12:
        middle = low + (low - high) * at_low / (at_high - at_low)
        at_middle = slope(middle)
        if at_middle * at_high <= 0:
            low, at_low = high, at_high
        else:
            # Illinois: an end that stays is halved, else regula falsi stalls
            at_low /= 2
        high, at_high = middle, at_middle
    return math.exp(low / 2)
