"""Ratings of games with more than two seats from the ranks of the players; libraries do the mathematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.plugins import missing_dependency


class Placement(NamedTuple):
    """One game: its players and their ranks, 0 the best; equal ranks are ties."""

    players: Sequence[int]
    ranks: Sequence[int]


class Skill(NamedTuple):
    """Normal beliefs about the skill of each player."""

    mu: NDArray[np.float64]
    """[n]."""
    sigma: NDArray[np.float64]
    """[n]."""

    @property
    def exposed(self) -> NDArray[np.float64]:
        """[n], mu - 3 sigma: a conservative estimate of the skill."""
        return self.mu - 3 * self.sigma


def trueskill(players: int, games: Iterable[Placement], draw_probability: float = 0.1) -> Skill:
    """TrueSkill after each game in turn, mu 25, sigma 25/3.

    Args:
        players: number of players.
        games: in the order of play.
        draw_probability: of a tie between two.

    Raises:
        PluginError: the package trueskill or scipy is missing.
    """
    try:
        import scipy.stats  # noqa: F401  the library's own normal distribution has six digits only
        from trueskill import TrueSkill
    except ImportError as error:
        raise missing_dependency("TrueSkill", error.name or "trueskill") from error
    model = TrueSkill(mu=25.0, sigma=25 / 3, draw_probability=draw_probability, backend="scipy")
    ratings = [model.create_rating() for _ in range(players)]
    for game in games:
        rated = model.rate([(ratings[player],) for player in game.players], ranks=list(game.ranks))
        for player, (rating,) in zip(game.players, rated, strict=True):
            ratings[player] = rating
    return _skill(ratings)


def plackett_luce(players: int, games: Iterable[Placement]) -> Skill:
    """Weng and Lin's Plackett-Luce ratings (jmlr.org/papers/v12/weng11a) after each game in turn, with openskill's defaults.

    Args:
        players: number of players.
        games: in the order of play.

    Raises:
        PluginError: the package openskill is missing.
    """
    try:
        from openskill.models import PlackettLuce
    except ImportError as error:
        raise missing_dependency("Plackett-Luce", "openskill") from error
    model = PlackettLuce()
    ratings = [model.rating() for _ in range(players)]
    for game in games:
        teams = [[ratings[player]] for player in game.players]
        rated = model.rate(teams, ranks=[float(rank) for rank in game.ranks])
        for player, (rating,) in zip(game.players, rated, strict=True):
            ratings[player] = rating
    return _skill(ratings)


def _skill(ratings: Iterable[object]) -> Skill:
    return Skill(*(np.array([getattr(rating, name) for rating in ratings], np.float64) for name in ("mu", "sigma")))
