"""Measures of a table of win rates beyond one rating per player."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

from .nash import Nash, max_entropy_nash

Floats = NDArray[np.float64]
CLIP = 1e-6
"""Rates are clipped to [CLIP, 1 - CLIP] before a logit is taken."""


class NashAveraging(NamedTuple):
    """Nash averaging (arXiv:1806.02643)."""

    nash: Nash
    skill: Floats
    """[n], mean log-odds against the equilibrium; 0 for its members."""


class Cycle(NamedTuple):
    """Three players of which each beats the next."""

    players: tuple[int, int, int]
    """The smallest number first."""
    rates: tuple[float, float, float]
    """First against second, second against third, third against first."""

    @property
    def strength(self) -> float:
        """The smallest of the three rates."""
        return min(self.rates)


def known_players(games: ArrayLike) -> NDArray[np.int64]:
    """Players that all have games against each other.

    The player with the most unplayed pairs is removed until there are none, newer players first.

    Args:
        games: [n, n]; the diagonal is not read.
    """
    unplayed = np.asarray(games, np.float64) <= 0
    unplayed = unplayed | unplayed.T
    np.fill_diagonal(unplayed, False)
    kept, missing = np.ones(len(unplayed), bool), unplayed.sum(1)
    while missing.any():
        worst = len(missing) - 1 - int(missing[::-1].argmax())
        kept[worst] = False
        missing -= unplayed[worst]
        missing[worst] = 0
        unplayed[:, worst] = False
    return np.flatnonzero(kept)


def nash(win_rate: ArrayLike) -> Nash:
    """Maximum-entropy equilibrium of P - 1/2.

    Args:
        win_rate: [n, n], without NaN; the two rates of a pair have the sum 1.

    Raises:
        OptionError: the table is not of this form.
        PluginError: the package scipy is missing.
    """
    return max_entropy_nash(_square(win_rate) - 0.5)


def nash_averaging(win_rate: ArrayLike) -> NashAveraging:
    """Equilibrium of the log-odds, and each player's skill against it; arguments and errors as of `nash`."""
    odds = _log_odds(win_rate)
    found = max_entropy_nash(odds)
    return NashAveraging(found, odds @ found.mixture)


def nash_conv(win_rate: ArrayLike, mixture: ArrayLike) -> float:
    """2 (max_i (A p)_i - p A p), A = P - 1/2: what both sides gain by best responses within the league to mixture p; 0 at equilibrium."""
    gains, p = _square(win_rate) - 0.5, np.asarray(mixture, np.float64)
    return float(2 * ((gains @ p).max() - p @ gains @ p))


def cyclic_share(win_rate: ArrayLike) -> float:
    """Share of the squared log-odds that ratings cannot explain (Hodge decomposition, arXiv:0811.1067).

    0: transitive, or all pairs are even; 1: purely cyclic.
    """
    odds = _log_odds(win_rate)
    mean = odds.mean(1)
    rest = odds - (mean[:, None] - mean)
    total = float((odds**2).sum())
    return float((rest**2).sum()) / total if total > 0 else 0.0


def effective_diversity(win_rate: ArrayLike, mixture: ArrayLike) -> float:
    """p^T max(P - 1/2, 0) p, where p is the equilibrium of P - 1/2 (arXiv:1901.08106)."""
    p = np.asarray(mixture, np.float64)
    return float(p @ np.maximum(_square(win_rate) - 0.5, 0) @ p)


def strongest_cycle(win_rate: ArrayLike) -> Cycle | None:
    """The cycle of three players with the largest smallest rate; None if no three players form a cycle.

    Args:
        win_rate: [n, n]; NaN where unknown.
    """
    rates = np.nan_to_num(np.array(win_rate, np.float64), nan=0.0)
    best, found = 0.5, None
    for i, row in enumerate(rates):
        links = np.minimum(np.minimum(row[:, None], rates), rates[:, i])  # i beats j, j beats k, k beats i
        links[: i + 1], links[:, : i + 1] = 0, 0  # the smallest number first
        if links.size and links.max() > best:
            best = float(links.max())
            j, k = (int(place) for place in np.unravel_index(links.argmax(), links.shape))
            found = Cycle((i, j, k), (float(rates[i, j]), float(rates[j, k]), float(rates[k, i])))
    return found


def _square(win_rate: ArrayLike) -> Floats:
    rates = np.asarray(win_rate, np.float64)
    if rates.ndim != 2 or rates.shape[0] != rates.shape[1]:
        raise OptionError(f"win_rate of shape {rates.shape}: must be (n, n)")
    return rates


def _log_odds(win_rate: ArrayLike) -> Floats:
    """Antisymmetric part of the logit, with rates clipped to [1e-6, 1 - 1e-6]."""
    rates = np.clip(_square(win_rate), CLIP, 1 - CLIP)
    odds = np.log(rates) - np.log1p(-rates)
    return np.asarray((odds - odds.T) / 2)
