"""`DecisionRecorder`: records every decision made at a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ludory.data.columns import USED, Columns, used_column
from ludory.data.header import ExtraColumn
from ludory.envs import Array, Engine, Game, Memory, Player, Table, on_host

EARNED = ExtraColumn("earned", "float32")
"""Sum of the seat's rewards before the decision. Together with the later rewards it makes the return."""


def recorded_columns(game: Game) -> tuple[ExtraColumn, ...]:
    """The extra columns of every recording of a game."""
    return (EARNED, *([used_column(len(game.facts.heads))] if game.tells_used else []))


class DecisionNotes(Protocol):
    """Adds columns about a decision that the table does not show."""

    columns: tuple[ExtraColumn, ...]

    def __call__(self, engine: Engine, seat: int, actions: Array, memory: Memory) -> dict[str, Any]:
        """Values of `columns` for the decision that `seat`, with `memory`, has just made."""


class DecisionRecorder:
    """Records all decisions of one batch of games.

    Args:
        game: the game to play.
        engine: the batch, not reset yet.
        players: one for each seat.
        notes: adds further columns.
    """

    def __init__(
        self, game: Game, engine: Engine, players: Sequence[Player], notes: DecisionNotes | None = None
    ) -> None:
        self._notes, self._tells_used = notes, game.tells_used
        self._engine, self._facts = engine, engine.facts
        self._made = np.zeros((engine.num_games, engine.facts.players), np.int64)
        self._parts: list[tuple[Array, ...]] = []
        self._players = players
        self._rewards = np.zeros((engine.num_games, engine.facts.players), np.float32)

    def play(self, first_game: int, seed: int) -> Columns:
        """Play all games to their end; game k of the batch has the id `first_game + k`.

        A reward belongs to the seat's last decision before it. Rewards before the seat's first decision are only in `earned`.
        """
        table = Table(self._engine, [_RecordedPlayer(player, self) for player in self._players])
        self._rewards = (
            table.rewards
        )  # not the table: it refers to this object, and a cycle would keep the shard in memory
        table.start()
        table.run()
        joined = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        rows, seats, steps = joined[:3]
        order = np.lexsort((seats, steps, rows))
        rows, seats, steps, seen, masks, actions, log_probs, earned, used, *noted = (part[order] for part in joined)
        total = self._rewards[rows, seats]
        following, last = _next_decisions(rows, seats)
        after = np.where(last, total, earned[following])
        return Columns(
            games=first_game + rows,
            seeds=np.full(len(rows), seed),
            steps=steps,
            seats=seats,
            observations=seen,
            masks=masks,
            actions=actions,
            log_probs=log_probs,
            rewards=after - earned,
            terminated=last & on_host(self._engine.terminated)[rows],
            truncated=last & on_host(self._engine.truncated)[rows],
            extras={EARNED.name: earned}
            | ({USED: used} if self._tells_used else {})
            | {one.name: part for one, part in zip(self._noted, noted, strict=True)},
        )

    @property
    def _noted(self) -> tuple[ExtraColumn, ...]:
        return self._notes.columns if self._notes else ()

    def note(self, seat: int, rows: Array, actions: Array, log_probs: Array | None, memory: Memory) -> None:
        """Record a decision of `seat` in the games `rows`, before it is played."""
        facts, engine = self._facts, self._engine
        rows = on_host(rows)
        legal = on_host(engine.legal())[rows]
        seen = on_host(engine.observe(seat, rows, packed=facts.observation.bits))
        steps = self._made[rows, seat] if facts.simultaneous else self._made[rows].sum(1)
        self._made[rows, seat] += 1
        chosen = on_host(actions).reshape(len(rows), len(facts.heads))
        more = self._notes(engine, seat, actions, memory) if self._notes else {}
        used = on_host(engine.used(actions, seat, rows)) if self._tells_used else np.ones(chosen.shape, bool)
        known = np.full(chosen.shape, np.nan, np.float32) if log_probs is None else np.asarray(log_probs, np.float32)
        self._parts.append(
            (
                rows.copy(),
                np.full(len(rows), seat),
                steps,
                seen if facts.observation.bits else seen.reshape(len(rows), -1).astype(np.float32),
                np.packbits(legal[:, seat] if facts.simultaneous else legal, axis=1),
                chosen.astype(np.int64),
                known,
                self._rewards[rows, seat],
                used,
                *(more[one.name] for one in self._noted),
            )
        )


def _next_decisions(rows: NDArray[Any], seats: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Row of the same seat's next decision in the same game, and whether there is none (the row is then meaningless)."""
    order = np.lexsort((seats, rows))
    ends = np.append((np.diff(rows[order]) != 0) | (np.diff(seats[order]) != 0), True)
    following, last = np.empty(len(rows), np.int64), np.empty(len(rows), bool)
    following[order], last[order] = np.roll(order, -1), ends
    return following, last


class _RecordedPlayer:
    """A player whose choices are passed to the recorder."""

    def __init__(self, player: Player, recorder: DecisionRecorder) -> None:
        self._player, self._recorder = player, recorder

        if callable(start_games := getattr(player, "start_games", None)):
            self.start_games = start_games
        if callable(look_on := getattr(player, "look_on", None)):
            self.look_on = look_on

    def initial_memory(self, rows: int) -> Memory:
        return self._player.initial_memory(rows)

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        actions = self._player.choose(engine, seat, rows, memory)
        labels = getattr(
            self._player, "labels", None
        )  # what a teacher would play, where the player plays something else
        recorded = actions if labels is None else labels
        self._recorder.note(seat, rows, recorded, getattr(self._player, "log_probs", None), memory)
        return actions

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        self._player.notice(engine, seat, rows, actions, memory)
