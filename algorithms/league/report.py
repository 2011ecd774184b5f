"""The report of a league: every measure of it that its games allow, as one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ludory.agents.intervals import Z95, wilson

from .alpha_rank import alpha_rank
from .exploitation import Exploitation
from .metagame import (
    cyclic_share,
    effective_diversity,
    known_players,
    nash,
    nash_averaging,
    nash_conv,
    relative_performance,
    strongest_cycle,
)
from .nash import Nash
from .ratings import bradley_terry
from .report_input import LeagueInput, ReportPlayer
from .report_payoff import Matrix, PayoffRow, matrix, payoff_rows

SCHEMA = "ludory-league-report/1"
ROLES = ("main", "main_exploiter", "league_exploiter", "anchor")


class Rating(NamedTuple):
    """Bradley-Terry on the chess scale, mean 0."""

    elo: float
    deviation: float

    @property
    def low(self) -> float:
        """Of the 95 % interval."""
        return self.elo - Z95 * self.deviation

    @property
    def high(self) -> float:
        """Of the 95 % interval."""
        return self.elo + Z95 * self.deviation


class Smallest(NamedTuple):
    """A player's smallest win rate."""

    rate: float
    against: str
    games: int
    """Against that opponent."""


class Measured(NamedTuple):
    """What is known of one player; None: it did not play what this needs."""

    player: ReportPlayer
    games: int
    """Between fixed players."""
    rating: Rating | None = None
    nash: float | None = None
    skill: float | None = None
    """Log-odds against the Nash mixture of Nash averaging."""
    alpha_rank: float | None = None
    alpha_rank_1: float | None = None
    """With alpha 1 instead of 10."""
    smallest: Smallest | None = None
    """Against any fixed player."""
    smallest_anchor: Smallest | None = None
    """Against anchors."""


class NamedCycle(NamedTuple):
    """The strongest three players of which each beats the next."""

    players: tuple[str, ...]
    rates: tuple[float, ...]
    games: tuple[int, ...]


class Relative(NamedTuple):
    """Relative performance of the copies of one role against those of another."""

    role: str
    other: str
    value: float
    players: tuple[int, int]
    games: int


class Metagame(NamedTuple):
    """Measures of the players that all met each other."""

    players: list[str]
    left_out: list[str]
    games: int
    nash_unique: bool
    cyclic_share: float
    effective_diversity: float
    nash_conv_uniform: float
    nash_conv_last: float | None
    """Of the newest copy of a main."""
    last: str | None
    cycle: NamedCycle | None


class Remembered(NamedTuple):
    """A copy's smallest win rate against all frozen players that were older, when it was made."""

    player: str
    """The learner."""
    id: str
    step: int
    smallest: Smallest
    games: int
    """Against all of them."""


class Exploited(NamedTuple):
    """How far fresh learners with one budget got against one target."""

    target: str
    start: str
    env_steps: int
    seeds: int
    games: int
    largest: float
    largest_low: float
    largest_high: float
    """Of the seed that got furthest: the honest exploitability is at least this."""
    mean: float
    mean_low: float
    mean_high: float
    """Wilson interval of all games together."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a report comes from."""

    version: str
    commit: str | None = None
    date: str | None = None
    machine: str | None = None
    """Kind of machine that the report was written on."""


@dataclass(frozen=True, slots=True)
class LeagueReport:
    """Everything that is written."""

    league: LeagueInput
    origin: Origin
    matrix: Matrix
    players: Sequence[Measured]
    """As in `league.players`."""
    payoff: Sequence[PayoffRow]
    metagame: Metagame | None
    """None: no two fixed players met."""
    relative: Sequence[Relative]
    remembered: Sequence[Remembered]
    exploited: Sequence[Exploited]
    warnings: Sequence[str]

    def by_strength(self) -> list[Measured]:
        """Rated players, by Nash mass, then by rating, best first."""
        rated = [one for one in self.players if one.rating]
        return sorted(rated, key=lambda one: (-round(one.nash or 0.0, 6), -one.rating.elo if one.rating else 0.0))


def make_report(league: LeagueInput, origin: Origin) -> LeagueReport:
    """Measure a league; nothing is played here.

    Raises:
        PluginError: the package scipy is missing.
    """
    table = matrix(league)
    complete = known_players(table.games)
    common = table.of(complete if len(complete) > 1 else [])
    warnings = list(league.warnings)
    left_out = [id for id in table.players if id not in common.players]
    if left_out:
        warnings.append(
            f"left out of Nash, alpha-rank and cyclic share, without games against some of the others: {', '.join(left_out)}"
        )
    equilibrium = nash(common.rates) if common.players else None
    measured = _measured(league, table, common, equilibrium)
    metagame = _metagame(league, common, left_out, equilibrium) if equilibrium else None
    remembered = list(_remembered(league, table))
    relative, exploited = list(_relative(league, common)), list(_exploited(league))
    payoff = list(payoff_rows(league))
    return LeagueReport(league, origin, table, measured, payoff, metagame, relative, remembered, exploited, warnings)


def _measured(league: LeagueInput, table: Matrix, common: Matrix, equilibrium: Nash | None) -> list[Measured]:
    played = table.of(np.flatnonzero(table.games.sum(1) > 0))
    strengths = bradley_terry(played.points)
    ratings = {
        id: Rating(float(elo), float(deviation))
        for id, elo, deviation in zip(played.players, strengths.elo, strengths.elo_deviation, strict=True)
    }
    masses: dict[str, dict[str, Any]] = {}
    if equilibrium:
        averaging = nash_averaging(common.rates)
        columns = {
            "nash": equilibrium.mixture,
            "skill": averaging.skill,
            "alpha_rank": alpha_rank(common.rates, 10.0),
            "alpha_rank_1": alpha_rank(common.rates, 1.0),
        }
        for row, id in enumerate(common.players):
            masses[id] = {name: float(column[row]) for name, column in columns.items()}
    everyone = list(range(len(table.players)))
    anchors = [row for row in everyone if _role(league, table.players[row]) == "anchor"]
    found = []
    for player in league.players:
        if not player.fixed:
            found.append(Measured(player, 0))
            continue
        row = table.players.index(player.id)
        numbers = masses.get(player.id, {})
        found.append(
            Measured(
                player,
                int(table.games[row].sum()),
                ratings.get(player.id),
                **numbers,
                smallest=_smallest(table, row, everyone),
                smallest_anchor=_smallest(table, row, anchors),
            )
        )
    return found


def _metagame(league: LeagueInput, common: Matrix, left_out: list[str], equilibrium: Nash) -> Metagame:
    rates, count = common.rates, len(common.players)
    mains = [row for row, id in enumerate(common.players) if _role(league, id) == "main"]
    cycle = strongest_cycle(rates)
    named = None
    if cycle:
        i, j, k = cycle.players
        ids = tuple(common.players[row] for row in cycle.players)
        named = NamedCycle(ids, cycle.rates, tuple(int(common.games[pair]) for pair in ((i, j), (j, k), (k, i))))
    return Metagame(
        common.players,
        left_out,
        int(common.games.sum() / 2),
        equilibrium.unique,
        cyclic_share(rates),
        effective_diversity(rates, equilibrium.mixture),
        nash_conv(rates, np.full(count, 1 / count)),
        nash_conv(rates, np.eye(count)[mains[-1]]) if mains else None,
        common.players[mains[-1]] if mains else None,
        named,
    )


def _relative(league: LeagueInput, common: Matrix) -> Iterator[Relative]:
    rows = {role: [k for k, id in enumerate(common.players) if _role(league, id) == role] for role in ROLES}
    for place, role in enumerate(ROLES):
        for other in ROLES[place + 1 :]:
            if rows[role] and rows[other]:
                table = np.ix_(rows[role], rows[other])
                value = relative_performance(common.rates[table]).value
                sizes = len(rows[role]), len(rows[other])
                yield Relative(role, other, value, sizes, int(common.games[table].sum()))


def _remembered(league: LeagueInput, table: Matrix) -> Iterator[Remembered]:
    players = {player.id: player for player in league.players}
    for row, id in enumerate(table.players):
        player = players[id]
        older = [k for k in range(row) if players[table.players[k]].frozen]
        smallest = _smallest(table, row, older) if player.frozen else None
        if smallest and player.parent:
            yield Remembered(player.parent, id, player.step or 0, smallest, int(table.games[row, older].sum()))


def _exploited(league: LeagueInput) -> Iterator[Exploited]:
    groups: dict[tuple[str, str, int], list[Exploitation]] = {}
    for one in league.exploitations:
        groups.setdefault((one.target, one.start, one.env_steps), []).append(one)
    for (target, start, steps), runs in groups.items():
        best, games = max(runs, key=lambda run: run.score), sum(run.games for run in runs)
        points = sum(run.score * run.games for run in runs)
        low, high = wilson(points, games)
        mean = float(np.mean([run.score for run in runs]))
        extent = best.score, best.low, best.high, mean, float(low), float(high)
        yield Exploited(target, start, steps, len(runs), games, *extent)


def _smallest(table: Matrix, row: int, columns: Sequence[int]) -> Smallest | None:
    known = [column for column in columns if column != row and table.games[row, column] > 0]
    if not known:
        return None
    rates = table.rates[row]
    worst = min(known, key=lambda column: rates[column])
    return Smallest(float(rates[worst]), table.players[worst], int(table.games[row, worst]))


def _role(league: LeagueInput, id: str) -> str:
    return next(player.role for player in league.players if player.id == id)


def mean_smallest(report: LeagueReport) -> Mapping[str, float]:
    """Mean over its copies of each learner's smallest win rate against what was older: low means that it forgets."""
    rates: dict[str, list[float]] = {}
    for one in report.remembered:
        rates.setdefault(one.player, []).append(one.smallest.rate)
    return {player: float(np.mean(values)) for player, values in rates.items()}
