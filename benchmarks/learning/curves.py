"""Statistics of learning curves over seeds: interquartile mean and stratified bootstrap (arXiv 2108.13264)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
RESAMPLES = 10_000


class Band(NamedTuple):
    """A curve with its interval, each (checkpoints,)."""

    middle: Floats
    low: Floats
    high: Floats

    def as_json(self) -> dict[str, list[float]]:
        """Lists of numbers with four decimals."""
        return {name: [round(float(value), 4) for value in part] for name, part in self._asdict().items()}

    @classmethod
    def from_json(cls, lists: dict[str, list[float]]) -> Band:
        """The band that `as_json` wrote."""
        return cls(*(np.array(lists[name]) for name in cls._fields))


def iqm(scores: ArrayLike, axis: int = 0) -> Floats:
    """Interquartile mean: of n scores without the floor(n / 4) lowest and as many highest."""
    ordered = np.sort(np.asarray(scores, np.float64), axis)
    count = ordered.shape[axis]
    middle: Floats = ordered.take(range(count // 4, count - count // 4), axis).mean(axis)
    return middle


def band(scores: ArrayLike, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0) -> Band:
    """IQM over seeds at each checkpoint, with percentile bootstrap intervals.

    Seeds are drawn with replacement, as whole curves; the contender on its game is the stratum.

    Args:
        scores: (seeds, checkpoints).
        level: of the intervals.
        resamples: of the bootstrap.
        seed: of its draws.
    """
    curves = np.asarray(scores, np.float64)
    return _band(iqm(curves), _resampled(curves, resamples, np.random.default_rng(seed)), level)


def lead(one: ArrayLike, other: ArrayLike, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0) -> Band:
    """IQM of `one` minus IQM of `other`, (seeds, checkpoints) both, as `band`; each contender is a stratum of its own."""
    generator = np.random.default_rng(seed)
    curves = [np.asarray(scores, np.float64) for scores in (one, other)]
    drawn = [_resampled(scores, resamples, generator) for scores in curves]
    return _band(iqm(curves[0]) - iqm(curves[1]), drawn[0] - drawn[1], level)


def _resampled(curves: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """IQM of every resample, (resamples, checkpoints)."""
    rows = generator.integers(len(curves), size=(resamples, len(curves)))
    return iqm(curves[rows], axis=1)


def _band(middle: Floats, drawn: Floats, level: float) -> Band:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Band(middle, low, high)
