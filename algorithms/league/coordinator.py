"""`Coordinator`: owns the event log, decides matches, snapshots, resets and evaluations."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Protocol

from ludory.algorithms.league.log.events import LeagueEvent
from ludory.algorithms.league.log.state import LeagueState, PlayerRecord
from ludory.algorithms.league.matchmaking.opponent_choice import draw_opponent, keyed_hash, opponent_branches
from ludory.algorithms.league.matchmaking.options import ROLES
from ludory.algorithms.league.matchmaking.payoff import mirrored_pairs
from ludory.algorithms.league.matchmaking.snapshots import decide, opponents_to_beat, smallest_rate

from .config import LeagueConfig
from .messages import Assignment, EvaluationOrder, MatchResult, PairResult, SliceResult, SnapshotOrder


class Log(Protocol):
    """Where events go: the file of a league, or a list of what happened in a turn that is played elsewhere."""

    def append(self, type: str, **body: Any) -> LeagueEvent:
        """Add an event."""

    def commit(self, seconds: float) -> LeagueEvent:
        """Add a `committed` event, and keep all before it; `seconds` passed since the last one."""


class Coordinator:
    """Every change is an event first; the state is the sum of the events.

    Args:
        config: of the league.
        log: where events go.
        state: of the events so far.
        numbering: (k, n): matches have numbers that leave remainder k when divided by n, so that n coordinators of one league,
            each with a k of its own, never use a number twice.
    """

    def __init__(self, config: LeagueConfig, log: Log, state: LeagueState, numbering: tuple[int, int] = (0, 1)) -> None:
        self.config, self.log, self.state = config, log, state
        self._remainder, self._step = numbering

    def emit(self, type: str, **body: Any) -> None:
        """Log an event and apply it to the state."""
        self.state.apply(self.log.append(type, **body))

    def add_players(self, anchors: tuple[str, ...]) -> None:
        """Add the players that a league begins with."""
        for role, count in zip(ROLES, self.config.roles, strict=True):
            for number in range(count):
                self.emit("player_added", id=f"{role}{number}", role=role)
        for anchor in anchors:
            self.emit("player_added", id=anchor, role="anchor")

    @property
    def whose_turn(self) -> PlayerRecord:
        """The learner of the next slice."""
        turns = [
            player
            for player in self.state.learners
            for _ in range(self.config.main_turns if player.role == "main" else 1)
        ]
        return turns[self.state.turn % len(turns)]

    def next_assignment(self, player: str) -> Assignment:
        """Draw the opponent of `player`'s next match."""
        state, config = self.state, self.config
        me, first = state.number(player), state.next_match
        match = first + (self._remainder - first) % self._step
        rates = state.payoff.win_rate_of(me, config.min_games_pfsp)
        branches = opponent_branches(me, rates, *state.kinship, config.snapshots.rules, config.matchmaking)
        draw = draw_opponent(branches, config.seed, match)
        game_seed, away = keyed_hash(config.seed, "seats", match), state.players[draw.opponent].id
        assignment = Assignment(match, player, away, config.games_per_match, game_seed, draw.branch)
        self.emit("assigned", **asdict(assignment))
        return assignment

    def take_result(self, result: MatchResult) -> None:
        """Count a match once; a result that was not assigned, or comes again, is refused and logged."""
        body: dict[str, Any] = {"match": result.match, "outcome": result.outcomes}
        if result.match not in self.state.open_matches:
            self.emit("refused", **body)
            return
        counted = self.config.source != "evaluator"
        self.emit("result", **body, length=result.length, source="training", counted=counted)

    def take_slice(self, result: SliceResult) -> None:
        """Log the end of a slice."""
        metrics = {name: value for name, value in result.metrics.items() if math.isfinite(value)}
        self.emit("progress", **{**asdict(result), "metrics": metrics})

    def strength_orders(self, player: str) -> list[EvaluationOrder]:
        """The games that are missing to call a learner strong, if the known ones suggest that it is."""
        config = self.config
        if config.source == "training":
            return []
        opponents, rates, games = self._to_beat(player)
        least = config.snapshots.min_games if config.source == "both" else max(1.0, config.snapshots.min_games)
        known = games >= least
        if known.all() or (rates[known] <= config.snapshots.threshold).any():
            return []
        others = [self.state.players[number].id for number in opponents[~known]]
        block = self.state.blocks.get
        return [EvaluationOrder(player, other, block((player, other), 0), config.evaluation_games) for other in others]

    def _to_beat(self, player: str) -> tuple[Any, Any, Any]:
        """Numbers of the players that a strong `player` beats, its win rates and games against them."""
        state, me = self.state, self.state.number(player)
        opponents = opponents_to_beat(state.player(player).role, *state.kinship)
        return opponents, state.payoff.win_rate_of(me)[opponents], state.payoff.games_of(me)[opponents]

    def after_slice(self, player: str) -> SnapshotOrder | None:
        """The order for a learner after its slice: None, a copy, or a copy and then a reset."""
        state, config = self.state, self.config
        found = state.player(player)
        _, rates, games = self._to_beat(player)
        decision = decide(
            found.role,
            found.steps_since_snapshot,
            config.unit_steps,
            smallest_rate(rates, games, config.snapshots),
            seed=config.seed,
            number=state.snapshots,
            rules=config.snapshots,
        )
        return decision and self.snapshot_order(player, decision.reason, decision.reset)

    def snapshot_order(self, player: str, reason: str, reset: bool = False) -> SnapshotOrder:
        """The next frozen copy of `player`."""
        return SnapshotOrder(player, f"{player}@{self.state.player(player).copies}", reason, reset)

    def snapshot_written(self, order: SnapshotOrder, file: str, sha256: str) -> None:
        """The weights of a copy are on disk: from now on it exists."""
        body = {"player": order.player, "id": order.id, "file": file, "sha256": sha256}
        self.emit("snapshot", **body, reason=order.reason, reset=order.reset)

    def reset_done(self, player: str) -> None:
        """A learner has returned to its initial weights."""
        self.emit("reset", player=player, to=self.config.exploiters_from)

    def matrix_orders(self) -> list[EvaluationOrder]:
        """Pairs of players that never change and have not met yet."""
        fixed = [player.id for player in self.state.fixed]
        return [
            EvaluationOrder(first, second, 0, self.config.evaluation_games)
            for place, first in enumerate(fixed)
            for second in fixed[place + 1 :]
            if (first, second) not in self.state.matrix
        ]

    def take_evaluation(self, result: PairResult, learning: bool) -> None:
        """Count an evaluation; `learning`: one side still learns, so its outcomes go to the decayed table."""
        body = asdict(result)
        outcomes = body.pop("outcomes")
        kept = {"outcomes": outcomes} if learning else {}
        self.emit("evaluated", **body, pairs=list(mirrored_pairs(outcomes)), **kept)

    def checkpointed(self, player: str, file: str, sha256: str, step: int) -> None:
        """A learner's whole state is on disk."""
        self.emit("checkpoint", player=player, file=file, sha256=sha256, step=step)

    def commit(self, seconds: float) -> None:
        """Commit the log; a resumed league continues from here. `seconds` passed since the last commit.

        Raises:
            OutputError: the log is gone or was replaced.
        """
        self.state.apply(self.log.commit(seconds))
