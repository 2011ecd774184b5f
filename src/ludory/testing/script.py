"""A recorded game as one policy meets it: its decisions, and the players that repeat the moves of the other seats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ludory.envs.engine import Engine
from ludory.envs.game import GameFacts

from .recording import Array, Recording, to_numpy


class Decision(NamedTuple):
    """What a policy is shown when it has to choose, or at the end of the game."""

    step: int
    observation: Array  # (*shape)
    mask: Array  # (A,)
    player: int
    reward: float  # since the decision before; what fell before the first one counts for the second
    terminated: bool
    truncated: bool


def decisions(facts: GameFacts, recording: Recording, row: int, own: int | None) -> list[Decision]:
    """Decisions of the policy at seat `own` (None: at all seats) in one recorded game, its end the last one."""
    found: list[Decision] = []
    earned = 0.0
    for step, moment in enumerate(recording.moments):
        over = bool(moment.over[row])
        earned += float(moment.rewards[row, own or 0])
        if over or own is None or facts.simultaneous or moment.to_move[row] == own:
            seat = int(moment.next_seat[row]) if own is None else own
            mask = moment.masks[row, seat] if facts.simultaneous else moment.masks[row]
            ends = bool(moment.terminated[row]), bool(moment.truncated[row])
            found.append(Decision(step, moment.observations[row, seat], mask, int(moment.to_move[row]), earned, *ends))
            earned = 0.0 if len(found) > 1 else earned
        if over:
            return found
    return found


def move_of(facts: GameFacts, action: Array, seat: int | None) -> Array:
    """One seat's part of one game's action: () for one head, (H,) for several."""
    mine = action[seat or 0] if facts.simultaneous else action
    return np.asarray(mine).reshape(() if len(facts.heads) == 1 else (len(facts.heads),))


class ScriptedPlayer:
    """Repeats the recorded moves of one seat, then plays the first legal one."""

    def __init__(self, facts: GameFacts, recording: Recording, seat: int) -> None:
        self._facts = facts
        games = range(len(recording.moments[0].to_move))
        self._moves = [iter(list(self._recorded(recording, game, seat))) for game in games]

    def _recorded(self, recording: Recording, game: int, seat: int) -> Iterator[Array]:
        for moment, actions in zip(recording.moments, recording.actions, strict=False):
            if not moment.over[game] and (self._facts.simultaneous or moment.to_move[game] == seat):
                yield move_of(self._facts, actions[game], seat)

    def initial_memory(self, rows: int) -> None:
        """None."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Any) -> Array:
        """The next recorded move in each of `rows`."""
        masks = to_numpy(engine.legal())[rows]
        fallback = first_legal(self._facts, masks[:, seat] if masks.ndim == 3 else masks)
        return np.stack([next(self._moves[row], other) for row, other in zip(rows, fallback, strict=True)])

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Any) -> None:
        """Nothing to remember."""


def first_legal(facts: GameFacts, masks: Array) -> Array:
    """First legal action for masks (n, A): (n,) for one head, (n, H) for several."""
    parts = np.split(masks, np.cumsum(facts.head_sizes)[:-1], axis=-1)
    actions = np.stack([part.argmax(axis=-1) for part in parts], axis=-1)
    return actions if len(parts) > 1 else actions[:, 0]
