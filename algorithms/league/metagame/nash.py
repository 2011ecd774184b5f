"""Equilibria of two-player zero-sum matrix games by linear programming (HiGHS, through SciPy)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError
from ludory.plugins import missing_dependency

Floats = NDArray[np.float64]

POINT = 1e-7
"""Optimal mixtures whose coordinates differ by less count as equal."""
MOST_STARTS = 20
"""Most starts of the search for the largest entropy, each where the one before stopped."""
_SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Nash(NamedTuple):
    """An equilibrium of an antisymmetric game."""

    mixture: Floats
    """[n], the optimal mixture with the largest entropy."""
    unique: bool
    """Whether it is the only optimal mixture."""


class Saddle(NamedTuple):
    """Value and optimal mixtures of a matrix game."""

    value: float
    rows: Floats
    """[a], an optimal mixture of rows."""
    columns: Floats
    """[b], an optimal mixture of columns."""


def max_entropy_nash(game: ArrayLike) -> Nash:
    """The maximum-entropy equilibrium of an antisymmetric game; it does not depend on the order of players, or on copies of them.

    Args:
        game: [n, n] with game = -game^T: what row gains against column; n >= 1.

    Raises:
        OptionError: the game is not antisymmetric, or not finite.
        PluginError: the package scipy is missing.
    """
    gains = _antisymmetric(game)
    low, high = _ranges(gains)
    if (high - low).max() < POINT:
        return Nash(_polished(gains, (low + high) / 2), True)
    return Nash(_largest_entropy(gains, high > POINT), False)


def saddle(payoff: ArrayLike) -> Saddle:
    """Value and optimal mixtures of the zero-sum game in which rows maximise `payoff` and columns minimise it.

    Of win rates between two populations, the value is their relative population performance (arXiv:1901.08106).

    Args:
        payoff: [a, b], at least one of each.

    Raises:
        OptionError: the table is empty or not finite.
        PluginError: the package scipy is missing.
    """
    table = np.asarray(payoff, np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise OptionError(f"payoff of shape {table.shape}: must be (a, b) with a, b >= 1 and finite numbers")
    a, b = table.shape
    found = _solve(
        np.append(np.zeros(a), -1.0),  # largest v with payoff^T p >= v
        np.hstack([-table.T, np.ones((b, 1))]),
        np.append(np.ones(a), 0.0)[None],
        [(0, None)] * a + [(None, None)],
    )
    return Saddle(float(found.x[a]), _mixture(found.x[:a]), _mixture(-found.ineqlin.marginals))


def _antisymmetric(game: ArrayLike) -> Floats:
    gains = np.asarray(game, np.float64)
    if gains.ndim != 2 or gains.shape[0] != gains.shape[1] or not gains.size:
        raise OptionError(f"game of shape {gains.shape}: must be (n, n) with n >= 1")
    if not np.allclose(gains, -gains.T, rtol=0, atol=1e-9):
        raise OptionError("the game is not antisymmetric: rates of a pair must add up to 1, and be known")
    return np.asarray((gains - gains.T) / 2)


def _ranges(gains: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest value of each coordinate over all optimal mixtures p: p >= 0, sum p = 1, gains p <= 0."""
    n = len(gains)
    ends = np.array([[_optimum(gains, sign * row) for row in np.eye(n)] for sign in (1.0, -1.0)])
    return ends[0], -ends[1]


def _optimum(gains: Floats, costs: Floats) -> float:
    return float(_solve(costs, gains, np.ones((1, len(gains))), (0, 1)).fun)


def _polished(gains: Floats, mixture: Floats) -> Floats:
    """The unique mixture with more digits: on its support all gains are 0."""
    support = np.flatnonzero(mixture > POINT)
    size = len(support)
    system = np.vstack([gains[np.ix_(support, support)], np.ones(size)])
    exact = np.zeros(len(gains))
    exact[support] = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    worst = [max(-p.min(), (gains @ p).max()) for p in (exact, _mixture(mixture))]
    return _mixture(exact if worst[0] <= max(worst[1], 1e-12) else mixture)


def _largest_entropy(gains: Floats, used: NDArray[np.bool_]) -> Floats:
    """The optimal mixture with maximum entropy; `used` players have mass in some optimal mixture.

    By duality p_i is proportional to exp(-(gains^T m)_i), where m minimises the logarithm of the sum. m is free for used players, whose
    gains are 0 in every optimal mixture, and at least 0 for the others.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    rows = gains[:, used] / max(1e-300, float(np.abs(gains).max()))

    def dual(m: Floats) -> tuple[float, Floats]:
        exponent = -(m @ rows)
        return float(logsumexp(exponent)), -(rows @ softmax(exponent))

    bounds = [(None, None) if free else (0.0, None) for free in used]
    options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 20_000, "maxfun": 100_000, "maxls": 60}
    m, mixture, worst = np.zeros(len(gains)), np.zeros(len(gains)), np.inf
    # L-BFGS-B takes a step that changes nothing of the 16 digits of its objective for the end, also far from it; it goes on from there
    for _ in range(MOST_STARTS):
        found = minimize(dual, m, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        m, before = found.x, worst
        mixture[used] = softmax(-(m @ rows))
        worst = float((rows @ mixture[used]).max())
        if worst < 1e-12 or (before < 10 * POINT and worst >= before):
            break
    if worst > 10 * POINT:
        raise ArithmeticError(f"the equilibrium of largest entropy was not found: {found.message}")
    return mixture


def _mixture(weights: Floats) -> Floats:
    clipped = np.clip(weights, 0.0, None)
    return np.asarray(clipped / clipped.sum())


def _solve(costs: Floats, upper: Floats, equal: Floats, bounds: Any) -> Any:
    """Minimise costs x subject to upper x <= 0 and equal x = 1."""
    try:
        from scipy.optimize import linprog
    except ImportError as error:
        raise missing_dependency("the Nash equilibrium of a league", "scipy") from error
    found = linprog(costs, upper, np.zeros(len(upper)), equal, [1.0], bounds, method="highs", options=_SOLVER)
    if found.status != 0:
        raise ArithmeticError(f"the linear programme of {len(costs)} unknowns has no solution: {found.message}")
    return found
