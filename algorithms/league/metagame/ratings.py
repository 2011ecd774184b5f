"""Ratings from results of pairs: Elo and Bradley-Terry."""

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
