"""The report of a league: all measures that its games allow, as one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from ludory.agents import wilson
from ludory.agents.evaluation.intervals import Z95
from ludory.algorithms.league.exploitation import Exploitation
from ludory.algorithms.league.metagame.nash import Nash, saddle
from ludory.algorithms.league.metagame.nash_averaging import (
    NashAveraging,
    cyclic_share,
    effective_diversity,
    known_players,
    nash,
    nash_averaging,
    nash_conv,
    strongest_cycle,
)
from ludory.algorithms.league.metagame.ratings import BradleyTerry, alpha_rank, bradley_terry
from ludory.errors import PluginError

from .input import LeagueInput, ReportPlayer
from .payoff_tables import Matrix, PayoffRow, SmallestRate, clear_rates, matrix, payoff_rows

SCHEMA = "ludory-league-report/1"
ROLES = ("main", "main_exploiter", "league_exploiter", "anchor")
COMMON = 128
"""Most players of measures of a whole table (Nash, alpha-rank, cyclic share ...), which take cubic time or more."""
NAMED = 20
"""Most players that a warning names."""


class Rating(NamedTuple):
    """Bradley-Terry on the chess scale, mean 0."""

    elo: float
    deviation: float
    """Standard error."""

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.elo - Z95 * self.deviation

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.elo + Z95 * self.deviation


class Measured(NamedTuple):
    """Measures of one player; None: it lacks the games for it."""

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
    smallest: SmallestRate | None = None
    """Against any fixed player."""
    smallest_anchor: SmallestRate | None = None
    """Against anchors."""


class NamedCycle(NamedTuple):
    """The strongest three players of which each beats the next, by rates whose 95 % intervals lie above 1/2."""

    players: tuple[str, ...]
    rates: tuple[float, ...]
    games: tuple[int, ...]


class Relative(NamedTuple):
    """Relative performance of the frozen players of one role against those of another."""

    role: str
    other: str
    value: float
    players: tuple[int, int]
    games: int


class Metagame(NamedTuple):
    """Measures of the players that all played each other."""

    players: list[str]
    left_out: list[str]
    games: int
    nash_unique: bool | None
    """None: without an equilibrium."""
    cyclic_share: float
    effective_diversity: float | None
    nash_conv_uniform: float
    nash_conv_last: float | None
    """Of the newest copy of a main."""
    last: str | None
    cycle: NamedCycle | None


class Remembered(NamedTuple):
    """A copy's smallest win rate against all older frozen players."""

    player: str
    """The learner."""
    id: str
    step: int
    smallest: SmallestRate
    games: int
    """Against all of them."""


class Exploited(NamedTuple):
    """Results of new learners with one budget against one target."""

    target: str
    start: str
    env_steps: int
    seeds: int
    games: int
    largest: float
    largest_low: float
    largest_high: float
    """Of the best seed. Above one half, `largest_low` - 1/2 is a lower bound of the exploitability; below it nothing is known,
    because a best response to a player of a symmetric zero-sum game scores at least one half."""
    mean: float
    mean_low: float
    mean_high: float
    """Wilson interval of all games together."""


@dataclass(frozen=True, slots=True)
class ReportOrigin:
    """Version, commit, date and machine of a report."""

    version: str
    commit: str | None = None
    date: str | None = None
    machine: str | None = None


@dataclass(frozen=True, slots=True)
class LeagueReport:
    """The content of all files of a report."""

    league: LeagueInput
    origin: ReportOrigin
    matrix: Matrix
    players: Sequence[Measured]
    """As in `league.players`."""
    payoff: Sequence[PayoffRow]
    metagame: Metagame | None
    """None: no two fixed players played each other."""
    relative: Sequence[Relative]
    remembered: Sequence[Remembered]
    exploited: Sequence[Exploited]
    warnings: Sequence[str]

    def leaders(self) -> list[Measured]:
        """The player with the highest rating and those that it is not clearly above, best first.

        Clearly: the difference of two ratings is larger than 1.96 standard errors, taken as if the two were independent.
        """
        rated = sorted(
            ((one.rating, one) for one in self.players if one.rating), key=lambda pair: pair[0].elo, reverse=True
        )
        best = rated[0][0] if rated else None
        return [
            one
            for rating, one in rated
            # of a difference of two independent ratings the variances add up
            if best and best.elo - rating.elo <= Z95 * hypot(best.deviation, rating.deviation)
        ]

    def by_strength(self) -> list[Measured]:
        """Rated players, sorted by Nash mass, then by rating, best first."""
        rated = [one for one in self.players if one.rating]
        return sorted(rated, key=lambda one: (-round(one.nash or 0.0, 6), -one.rating.elo if one.rating else 0.0))


def make_report(league: LeagueInput, origin: ReportOrigin) -> LeagueReport:
    """Compute the report of a league from the games that it played.

    Without the package scipy there are no equilibria, and a warning says so.
    """
    table, warnings = matrix(league), list(league.warnings)
    played = table.of(np.flatnonzero(table.games.sum(1) > 0))
    strengths = bradley_terry(played.points)
    # measures of a whole table need every pair; ratings do not
    common = _common(table, dict(zip(played.players, strengths.strength.tolist(), strict=True)), warnings)
    equilibria = _equilibria(common, warnings)
    measured = _measured(league, table, played, strengths, common, equilibria)
    metagame = _metagame(league, table, common, equilibria) if common.players else None
    remembered = list(_remembered(league, table))
    relative, exploited = list(_relative(league, common)) if equilibria else [], list(_exploited(league))
    payoff = list(payoff_rows(league))
    return LeagueReport(league, origin, table, measured, payoff, metagame, relative, remembered, exploited, warnings)


def _common(table: Matrix, strengths: Mapping[str, float], warnings: list[str]) -> Matrix:
    """Players that all played each other, at most the `COMMON` strongest; `warnings` names the others."""
    complete = known_players(table.games)
    met = table.of(complete if len(complete) > 1 else [])
    inside = set(met.players)
    strangers = [id for id in table.players if id not in inside]
    if strangers:
        warnings.append(
            f"left out of Nash, alpha-rank and cyclic share, without games against some of the others: {_named(strangers)}"
        )
    if len(met.players) <= COMMON:
        return met
    order = sorted(range(len(met.players)), key=lambda row: -strengths[met.players[row]])
    weaker = sorted(order[COMMON:])
    warnings.append(
        f"left out of Nash, alpha-rank and cyclic share, which take the {COMMON} strongest by rating of {len(met.players)} players: "
        + _named([met.players[row] for row in weaker])
    )
    return met.of(sorted(order[:COMMON]))


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - NAMED} more (all in report.json)" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more


def _equilibria(common: Matrix, warnings: list[str]) -> tuple[Nash, NashAveraging] | None:
    """Equilibria of the rates and of the log-odds; None without players, or (with a warning) without scipy."""
    if not common.players:
        return None
    try:
        return nash(common.rates), nash_averaging(common.rates)
    except PluginError as error:
        warnings.append(f"no Nash mixtures, skill, effective diversity and populations in this report: {error}")
        return None


def _measured(
    league: LeagueInput,
    table: Matrix,
    played: Matrix,
    strengths: BradleyTerry,
    common: Matrix,
    equilibria: tuple[Nash, NashAveraging] | None,
) -> list[Measured]:
    ratings = {
        id: Rating(float(elo), float(deviation))
        for id, elo, deviation in zip(played.players, strengths.elo, strengths.elo_deviation, strict=True)
    }
    columns: dict[str, Any] = {}
    if common.players:
        columns = {"alpha_rank": alpha_rank(common.rates, 10.0), "alpha_rank_1": alpha_rank(common.rates, 1.0)}
    if equilibria:
        columns |= {"nash": equilibria[0].mixture, "skill": equilibria[1].skill}
    masses = {
        id: {name: float(column[row]) for name, column in columns.items()} for row, id in enumerate(common.players)
    }
    everyone, roles = np.arange(len(table.players)), _roles(league)
    anchors = np.array([row for row in everyone if roles[table.players[row]] == "anchor"], np.int64)
    rows = {id: row for row, id in enumerate(table.players)}
    found = []
    for player in league.players:
        # games of a player that changes between them would be of several players
        if not player.fixed:
            found.append(Measured(player, 0))
            continue
        row = rows[player.id]
        found.append(
            Measured(
                player,
                int(table.games[row].sum()),
                ratings.get(player.id),
                **masses.get(player.id, {}),
                smallest=table.smallest_rate(row, everyone),
                smallest_anchor=table.smallest_rate(row, anchors),
            )
        )
    return found


def _metagame(
    league: LeagueInput, table: Matrix, common: Matrix, equilibria: tuple[Nash, NashAveraging] | None
) -> Metagame:
    rates, count = common.rates, len(common.players)
    roles, inside = _roles(league), set(common.players)
    mains = [row for row, id in enumerate(common.players) if roles[id] == "main"]
    cycle = strongest_cycle(clear_rates(league, common))
    named = None
    if cycle:
        i, j, k = cycle.players
        ids = tuple(common.players[row] for row in cycle.players)
        named = NamedCycle(ids, cycle.rates, tuple(int(common.games[pair]) for pair in ((i, j), (j, k), (k, i))))
    return Metagame(
        common.players,
        [id for id in table.players if id not in inside],
        # the table is symmetric, so every game stands in it twice
        int(common.games.sum() / 2),
        equilibria[0].unique if equilibria else None,
        cyclic_share(rates),
        effective_diversity(rates, equilibria[0].mixture) if equilibria else None,
        nash_conv(rates, np.full(count, 1 / count)),
        # the newest copy of a main, as a mixture of one player
        nash_conv(rates, np.eye(count)[mains[-1]]) if mains else None,
        common.players[mains[-1]] if mains else None,
        named,
    )


def _relative(league: LeagueInput, common: Matrix) -> Iterator[Relative]:
    roles = _roles(league)
    rows = {role: [k for k, id in enumerate(common.players) if roles[id] == role] for role in ROLES}
    for place, role in enumerate(ROLES):
        for other in ROLES[place + 1 :]:
            if rows[role] and rows[other]:
                table = np.ix_(rows[role], rows[other])
                # a saddle point of the rectangular game: both sides may mix their players
                value = saddle(common.rates[table]).value
                sizes = len(rows[role]), len(rows[other])
                yield Relative(role, other, value, sizes, int(common.games[table].sum()))


def _remembered(league: LeagueInput, table: Matrix) -> Iterator[Remembered]:
    players = {player.id: player for player in league.players}
    frozen = np.array([players[id].frozen for id in table.players], bool)
    for row, id in enumerate(table.players):
        # players are in the order of their making, so those before are older
        player, older = players[id], np.flatnonzero(frozen[:row])
        least = table.smallest_rate(row, older) if player.frozen else None
        if least and player.parent:
            yield Remembered(player.parent, id, player.step or 0, least, int(table.games[row, older].sum()))


def _exploited(league: LeagueInput) -> Iterator[Exploited]:
    groups: dict[tuple[str, str, int], list[Exploitation]] = {}
    for one in league.exploitations:
        groups.setdefault((one.target, one.start, one.env_steps), []).append(one)
    for (target, start, steps), runs in groups.items():
        # exploitability is what the best of them finds; the mean tells how lucky it was
        best, games = max(runs, key=lambda run: run.score), sum(run.games for run in runs)
        points = sum(run.score * run.games for run in runs)
        low, high = wilson(points, games)
        mean = float(np.mean([run.score for run in runs]))
        extent = best.score, best.low, best.high, mean, float(low), float(high)
        yield Exploited(target, start, steps, len(runs), games, *extent)


def _roles(league: LeagueInput) -> dict[str, str]:
    return {player.id: player.role for player in league.players}


def standing(report: LeagueReport) -> str:
    """One sentence about who is the strongest, as far as the games tell."""
    leaders = report.leaders()
    if not leaders:
        return "No two players that never change have met yet: there are no ratings."
    circle = report.metagame.cycle.players if report.metagame and report.metagame.cycle else ()
    best, others = leaders[0], leaders[1:]
    rated = f"rating {best.rating.elo:.0f} ± {best.rating.deviation:.0f} (standard error)" if best.rating else ""
    # a circle means that ratings do not order these players, whatever their numbers
    if best.player.id in circle:
        return f"No player is the strongest: {circle[0]} beats {circle[1]}, which beats {circle[2]}, which beats {circle[0]}."
    if others:
        named = _named([one.player.id for one in others[:3]]) + (
            f" and {len(others) - 3} more" if len(others) > 3 else ""
        )
        return f"Highest rating: {best.player.id}, {rated}, but not clearly above {named}: play more games to tell them apart."
    return f"Strongest: {best.player.id}, {rated}, above every other player by more than the error."


def mean_smallest(report: LeagueReport) -> Mapping[str, float]:
    """Mean over its copies of each learner's smallest win rate against older players; it is low for a learner that forgets."""
    rates: dict[str, list[float]] = {}
    for one in report.remembered:
        rates.setdefault(one.player, []).append(one.smallest.rate)
    return {player: float(np.mean(values)) for player, values in rates.items()}
