"""Exploration: deliberate deviations from the best tile, so that recorded games reach more states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError

MODES = ("greedy", "boltzmann", "epsilon", "blunder")
GREEDY, BOLTZMANN, EPSILON, BLUNDER = range(4)


@dataclass(frozen=True, slots=True)
class Exploration:
    """Rates of exploration, tried in this order; none by default."""

    blunder: float = 0.0
    """Rate of tiles that lose something, at most `blunder_cap` points."""
    blunder_cap: float = 5.0
    epsilon: float = 0.0
    """Rate of uniformly random legal tiles."""
    temperature: float = 0.0
    """In points: tiles are sampled with probability proportional to exp(mean / temperature); 0: the best one."""

    def __post_init__(self) -> None:
        for name in ("blunder", "epsilon"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name}={getattr(self, name)}: must lie in 0..1")
        for name in ("blunder_cap", "temperature"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"{name}={getattr(self, name)}: must not be below 0")


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
