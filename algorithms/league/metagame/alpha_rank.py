"""Alpha-rank of one population (arXiv:1903.01373): the share of time that evolution under strong selection spends at each player."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]
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
