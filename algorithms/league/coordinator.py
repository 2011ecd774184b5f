"""`Coordinator`: owns the event log, decides matches, snapshots, resets and evaluations."""

from __future__ import annotations

import math
from typing import Any

from ludory.algorithms.league.log.events import EventLog
from ludory.algorithms.league.log.state import LeagueState, PlayerRecord
from ludory.algorithms.league.matchmaking.keyed_random import keyed_hash
from ludory.algorithms.league.matchmaking.opponent_choice import draw_opponent, opponent_branches
from ludory.algorithms.league.matchmaking.payoff import mirrored_pairs
from ludory.algorithms.league.matchmaking.snapshots import decide, opponents_to_beat, smallest_rate

from .config import LeagueConfig
from .messages import Assignment, EvaluationOrder, EvaluationResult, MatchResult, Progress, ResetOrder, SnapshotOrder


class Coordinator:
    """Everything that happens is an event first; the state is what the events add up to.

    Args:
        config: of the league.
        log: where events go.
        state: of the events so far.
    """

    def __init__(self, config: LeagueConfig, log: EventLog, state: LeagueState) -> None:
        self.config, self.log, self.state = config, log, state

    def emit(self, type: str, **body: Any) -> None:
        """Log an event and take it up."""
        self.state.apply(self.log.append(type, **body))

    def add_players(self, anchors: tuple[str, ...]) -> None:
        """The players that a league begins with."""
        mains, main_exploiters, league_exploiters = self.config.roles
        for role, count in (
            ("main", mains),
            ("main_exploiter", main_exploiters),
            ("league_exploiter", league_exploiters),
        ):
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
        players, me = state.players, state.number(player)
        branches = opponent_branches(
            me,
            state.payoff.win_rate_of(me, config.min_games_pfsp),
            *state.kinship,
            config.snapshots.rules,
            config.matchmaking,
        )
        drawn = draw_opponent(branches, config.seed, state.next_match)
        game_seed = keyed_hash(config.seed, "seats", state.next_match)
        assignment = Assignment(
            state.next_match, player, players[drawn.opponent].id, config.games_per_match, game_seed, drawn.branch
        )
        self.emit(
            "assigned",
            match=assignment.match,
            home=player,
            away=assignment.away,
            games=assignment.games,
            game_seed=game_seed,
            branch=assignment.branch,
        )
        return assignment

    def take_result(self, result: MatchResult) -> None:
        """Count a match, once; what was not assigned, or came before, is refused and logged."""
        if result.match not in self.state.open_matches:
            self.emit("refused", match=result.match, outcome=result.outcomes)
            return
        counted = self.config.source != "evaluator"
        self.emit(
            "result",
            match=result.match,
            outcome=result.outcomes,
            length=result.length,
            source="training",
            counted=counted,
        )

    def take_progress(self, progress: Progress) -> None:
        """A slice is over."""
        metrics = {name: value for name, value in progress.metrics.items() if math.isfinite(value)}
        self.emit(
            "progress",
            player=progress.player,
            env_steps=progress.env_steps,
            updates=progress.updates,
            metrics=metrics,
        )

    def strength_orders(self, player: str) -> list[EvaluationOrder]:
        """Games that a learner still needs before it can be known to be strong, where all that is known says that it is."""
        config = self.config
        if config.source == "training":
            return []
        opponents, rates, games = self._to_beat(player)
        least = config.snapshots.min_games if config.source == "both" else max(1.0, config.snapshots.min_games)
        known = games >= least
        if known.all() or (rates[known] <= config.snapshots.threshold).any():
            return []
        orders = []
        for number in opponents[~known]:
            other = self.state.players[number].id
            block = self.state.blocks.get((player, other), 0)
            orders.append(EvaluationOrder(player, other, block, config.evaluation_games))
        return orders

    def _to_beat(self, player: str) -> tuple[Any, Any, Any]:
        state = self.state
        opponents = opponents_to_beat(state.player(player).role, *state.kinship)
        me = state.number(player)
        return opponents, state.payoff.win_rate_of(me)[opponents], state.payoff.games_of(me)[opponents]

    def orders(self, player: str) -> list[SnapshotOrder | ResetOrder]:
        """What becomes of a learner after its slice: nothing, a copy, or a copy and then a new start."""
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
        if decision is None:
            return []
        orders: list[SnapshotOrder | ResetOrder] = [self.snapshot_order(player, decision.reason, decision.reset)]
        if decision.reset:
            orders.append(ResetOrder(player))
        return orders

    def snapshot_order(self, player: str, reason: str, reset: bool = False) -> SnapshotOrder:
        """Copy `player` as its next frozen copy."""
        return SnapshotOrder(player, f"{player}@{self.state.player(player).copies}", reason, reset)

    def snapshot_written(self, order: SnapshotOrder, file: str, sha256: str) -> None:
        """The weights are on disk: now the copy exists."""
        self.emit(
            "snapshot",
            player=order.player,
            id=order.id,
            file=file,
            sha256=sha256,
            reason=order.reason,
            reset=order.reset,
        )

    def reset_done(self, order: ResetOrder) -> None:
        """A learner starts anew."""
        self.emit("reset", player=order.player, to=self.config.exploiters_from)

    def matrix_orders(self) -> list[EvaluationOrder]:
        """Pairs of players that never change and have not met yet."""
        fixed = [player.id for player in self.state.fixed]
        return [
            EvaluationOrder(first, second, 0, self.config.evaluation_games)
            for place, first in enumerate(fixed)
            for second in fixed[place + 1 :]
            if (first, second) not in self.state.matrix
        ]

    def take_evaluation(self, result: EvaluationResult, outcomes: str, learning: bool) -> None:
        """Count an evaluation with its outcomes in order; `learning`: a side still learns, so they go to the decayed table."""
        self.emit(
            "evaluated",
            i=result.i,
            j=result.j,
            block=result.block,
            wins=result.wins,
            draws=result.draws,
            losses=result.losses,
            length=result.length,
            pairs=list(mirrored_pairs(outcomes)),
            **({"outcomes": outcomes} if learning else {}),
        )

    def checkpointed(self, player: str, file: str, sha256: str, step: int) -> None:
        """A learner's whole state is on disk."""
        self.emit("checkpoint", player=player, file=file, sha256=sha256, step=step)

    def commit(self, seconds: float) -> None:
        """From here a resumed league goes on; `seconds` passed since the last commit.

        Raises:
            OutputError: the log is gone, or is no longer the file that was written.
        """
        self.state.apply(self.log.commit(seconds))
