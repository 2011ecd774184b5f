"""Exploration: deliberate deviations from the best tile, so that recorded games reach more states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.limits import Fraction, NonNegativeFloat, check_limits

MODES = ("greedy", "boltzmann", "epsilon", "blunder")
GREEDY, BOLTZMANN, EPSILON, BLUNDER = range(4)


@dataclass(frozen=True, slots=True)
class Exploration:
    """Rates of exploration, tried in this order; none by default."""

    blunder: Fraction = 0.0
    """Rate of tiles that lose something, at most `blunder_cap` points."""
    blunder_cap: NonNegativeFloat = 5.0
    epsilon: Fraction = 0.0
    """Rate of uniformly random legal tiles."""
    temperature: NonNegativeFloat = 0.0
    """In points: tiles are sampled with probability proportional to exp(mean / temperature); 0: the best one."""

    def __post_init__(self) -> None:
        check_limits(self)


class Choice(NamedTuple):
    """A chosen tile."""

    place: int
    """Index among the legal tiles."""
    mode: int
    """Index in `MODES`."""
    q_gap: float
    """Mean of the greedy tile minus the mean of this one."""


def choose(mean: NDArray[np.float64], greedy: int, rules: Exploration, draw: np.random.Generator) -> Choice:
    """Choose among tiles with these means (tiles,); greedy: the place of the best one.

    Four numbers are always drawn, so that games with different rules stay equal as long as possible.
    """
    blunders, strays, which, level = draw.random(4)
    loss = mean[greedy] - mean

    def chosen(place: int, mode: int) -> Choice:
        return Choice(place, mode, float(loss[place]))

    bad = np.flatnonzero((loss > 0) & (loss <= rules.blunder_cap))
    if blunders < rules.blunder and len(bad):
        return chosen(int(bad[int(which * len(bad))]), BLUNDER)
    if strays < rules.epsilon:
        return chosen(int(which * len(mean)), EPSILON)
    if rules.temperature > 0:
        odds = np.exp((mean - mean.max()) / rules.temperature)
        place = int(np.searchsorted(np.cumsum(odds) / odds.sum(), level, side="right"))
        return chosen(min(place, len(mean) - 1), BOLTZMANN)
    return chosen(greedy, GREEDY)
