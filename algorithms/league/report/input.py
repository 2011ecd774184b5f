"""The input of a report: players, games, curves and milestones of a league, read from its event log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ludory.algorithms.league.exploitation import Exploitation, read_exploitations
from ludory.algorithms.league.log.events import LeagueEvent, Reducer, read_events, standing

Group = Literal["teacher", "anchors", "past"]
GROUPS: tuple[Group, ...] = ("teacher", "anchors", "past")
"""Opponents of a learner's curves: copies of the supervised policy, anchors, its own copies."""
_LETTERS = {1: "w", 0: "d", -1: "l"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Results of games for the first of two players."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pairs: tuple[int, ...] | None = None
    """Numbers of mirrored pairs of games with 0, 1/2, 1, 3/2 and 2 points; None: unknown."""

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Wins and half the draws."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> float | None:
        """Points per game; None without games."""
        return self.points / self.games if self.games else None

    @property
    def mirrored(self) -> Counts:
        """The results for the second player."""
        return Counts(self.losses, self.draws, self.wins, self.pairs and self.pairs[::-1])

    def plus(self, other: Counts) -> Counts:
        """The sum of both; pairs are known if they are known of all games."""
        pairs = other.pairs if not self.games else self.pairs if not other.games else None
        if self.games and other.games and self.pairs and other.pairs:
            pairs = tuple(one + another for one, another in zip(self.pairs, other.pairs, strict=True))
        return Counts(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses, pairs)


@dataclass(frozen=True, slots=True)
class ReportPlayer:
    """A learner, a frozen copy of one, or an anchor."""

    id: str
    role: str
    """Of a frozen player its parent's."""
    frozen: bool = False
    parent: str | None = None
    number: int | None = None
    """Of a frozen player: how many copies its parent had before."""
    step: int | None = None
    """Agent steps of a learner, or of the parent when it was copied; None of anchors."""
    sha256: str | None = None
    file: str | None = None

    @property
    def fixed(self) -> bool:
        """A frozen player or an anchor, which never changes."""
        return self.frozen or self.role == "anchor"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A learner at the end of one of its slices."""

    time: float
    """Seconds since the league began, pauses included."""
    player: str
    step: int
    updates: int | None
    metrics: Mapping[str, float]
    against: Mapping[Group, Counts]
    """Its games in the slice, by opponent."""


@dataclass(frozen=True, slots=True)
class Milestone:
    """A copy or a reset of a learner."""

    kind: Literal["snapshot", "reset"]
    time: float
    player: str
    step: int
    id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BranchGames:
    """Matches of a learner whose opponent a rule of matchmaking drew."""

    player: str
    branch: str
    matches: int
    games: int


@dataclass(frozen=True, slots=True)
class LeagueInput:
    """Everything that a report is about; what is missing was not played."""

    created: Mapping[str, Any] = field(default_factory=dict)
    """First event of the log: config, hash of the teacher, versions."""
    players: Sequence[ReportPlayer] = ()
    """Oldest first."""
    matrix: Mapping[tuple[str, str], Counts] = field(default_factory=dict)
    """Games between fixed players, each pair in one order only."""
    training: Mapping[tuple[str, str], Counts] = field(default_factory=dict)
    """Games of learners, home and away."""
    curve: Sequence[CurvePoint] = ()
    milestones: Sequence[Milestone] = ()
    branches: Sequence[BranchGames] = ()
    exploitations: Sequence[Exploitation] = ()
    seconds: float = 0.0
    """From the first event to the last."""
    closed: bool = False
    warnings: Sequence[str] = ()


def read_league(folder: str | Path) -> LeagueInput:
    """Read the league of a folder.

    Raises:
        DataError: there is no league, or one of its files is damaged.
    """
    found = league_input(standing(read_events(folder)))
    return replace(found, exploitations=read_exploitations(folder))


def league_input(events: Iterable[LeagueEvent]) -> LeagueInput:
    """The input from events (those of `standing`); unknown keys are ignored."""
    reader = _Reader()
    for event in events:
        reader.take(event)
    return reader.result()


class _Reader(Reducer):
    """Logs of other programs are read as well: with fewer keys, or with outcomes as numbers."""

    def __init__(self) -> None:
        self._players: dict[str, ReportPlayer] = {}
        self._copies: dict[str, int] = {}
        self._matrix: dict[tuple[str, str], Counts] = {}
        self._training: dict[tuple[str, str], Counts] = {}
        self._open: dict[int, tuple[str, str, str]] = {}
        self._branches: dict[tuple[str, str], BranchGames] = {}
        self._slice: dict[str, dict[Group, Counts]] = {}
        self._curve: list[CurvePoint] = []
        self._milestones: list[Milestone] = []
        self._created: Mapping[str, Any] = {}
        self._start: float | None = None
        self._time, self._closed = 0.0, False
        self._warnings: list[str] = []

    def take(self, event: LeagueEvent) -> None:
        if self._start is None:
            self._start = event.wall_time
        self._time = event.wall_time - self._start
        self.apply(event)
        self._closed = event.type == "closed" or (self._closed and event.type != "resumed")

    def result(self) -> LeagueInput:
        return LeagueInput(
            self._created,
            list(self._players.values()),
            self._matrix,
            self._training,
            self._curve,
            self._milestones,
            list(self._branches.values()),
            seconds=self._time,
            closed=self._closed,
            warnings=self._warnings,
        )

    def _on_created(self, **body: Any) -> None:
        self._created = body

    def _on_player_added(self, id: str, role: str, **body: Any) -> None:
        known = {name: body[name] for name in ("frozen", "parent", "number", "step", "sha256", "file") if name in body}
        player = ReportPlayer(id, role, **known)
        self._players[player.id] = player if player.fixed else replace(player, step=0)

    def _on_assigned(self, match: int, home: str, away: str, branch: str = "unknown", **_: Any) -> None:
        self._open[match] = home, away, branch

    def _on_result(self, match: int, outcome: str | int, **_: Any) -> None:
        found = self._open.pop(match, None)
        if found is None:
            self._warnings.append(f"a result of match {match}, which was not assigned or had one, is left out")
            return
        home, away, branch = found
        letters = outcome if isinstance(outcome, str) else _LETTERS[outcome]
        counts = Counts(letters.count("w"), letters.count("d"), letters.count("l"))
        self._training[home, away] = self._training.get((home, away), Counts()).plus(counts)
        drawn = self._branches.get((home, branch), BranchGames(home, branch, 0, 0))
        self._branches[home, branch] = replace(drawn, matches=drawn.matches + 1, games=drawn.games + counts.games)
        self._tally(home, away, counts)

    def _on_evaluated(
        self, i: str, j: str, wins: int, draws: int, losses: int, pairs: Sequence[int] | None = None, **_: Any
    ) -> None:
        counts = Counts(wins, draws, losses, tuple(pairs) if pairs else None)
        if not (self._is_fixed(i) and self._is_fixed(j)):
            self._tally(i, j, counts)
            self._tally(j, i, counts.mirrored)
        elif (j, i) in self._matrix:
            self._matrix[j, i] = self._matrix[j, i].plus(counts.mirrored)
        else:
            self._matrix[i, j] = self._matrix.get((i, j), Counts()).plus(counts)

    def _tally(self, player: str, opponent: str, counts: Counts) -> None:
        """Count games of a learner for the next point of its curve."""
        if self._is_fixed(player):
            return
        tally = self._slice.setdefault(player, {})
        for group in self._groups(player, self._players.get(opponent)):
            tally[group] = tally.get(group, Counts()).plus(counts)

    def _groups(self, player: str, opponent: ReportPlayer | None) -> list[Group]:
        if opponent is None or not opponent.fixed:
            return []
        if opponent.role == "anchor":
            return ["anchors"]
        past: list[Group] = ["past"] if opponent.parent == player else []
        return [*past, "teacher"] if opponent.step == 0 else past

    def _is_fixed(self, id: str) -> bool:
        return id in self._players and self._players[id].fixed

    def _on_progress(
        self,
        player: str,
        env_steps: int,
        updates: int | None = None,
        version: Any = None,
        metrics: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        """Logs of other programs have their metrics beside the other keys."""
        step, known = int(env_steps), others | dict(metrics or {})
        numbers = {key: float(value) for key, value in known.items() if isinstance(value, (int, float))}
        against = self._slice.pop(player, {})
        self._curve.append(CurvePoint(self._time, player, step, updates, numbers, against))
        if player in self._players:
            self._players[player] = replace(self._players[player], step=step)

    def _on_snapshot(
        self,
        player: str,
        id: str,
        file: str | None = None,
        sha256: str | None = None,
        reason: str | None = None,
        **_: Any,
    ) -> None:
        parent = self._players[player]
        number = self._copies.get(parent.id, 0)
        self._copies[parent.id] = number + 1
        self._players[id] = ReportPlayer(id, parent.role, True, parent.id, number, parent.step, sha256, file)
        self._milestones.append(Milestone("snapshot", self._time, parent.id, parent.step or 0, id, reason))

    def _on_reset(self, player: str, **_: Any) -> None:
        self._milestones.append(Milestone("reset", self._time, player, self._players[player].step or 0))
        self._open = {match: pair for match, pair in self._open.items() if pair[0] != player}
        self._slice.pop(player, None)

    def _on_checkpoint(self, player: str, file: str, sha256: str | None = None, **_: Any) -> None:
        self._players[player] = replace(self._players[player], file=file, sha256=sha256)
