"""Confidence intervals of shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

Z95 = 1.959963984540054
"""Normal quantile of a two-sided 95 % interval."""


class ShareInterval(NamedTuple):
    """Lower and upper end, of the shape of the input."""

    low: Floats
    high: Floats


def wilson(points: ArrayLike, games: ArrayLike, z: float = Z95) -> ShareInterval:
    """Wilson's score interval (doi:10.1080/01621459.1927.10502953); (0, 1) where no game was played.

    Args:
        points: wins and half the draws, any shape.
        games: of the same shape.
        z: normal quantile.
    """
    won, played = np.asarray(points, np.float64), np.asarray(games, np.float64)
    n = np.where(played > 0, played, 1.0)
    rate = won / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(rate * (1 - rate), 0) / n + z * z / (4 * n * n))
    low = np.where(played > 0, np.clip(middle - half, 0, 1), 0.0)
    return ShareInterval(low, np.where(played > 0, np.clip(middle + half, 0, 1), 1.0))
