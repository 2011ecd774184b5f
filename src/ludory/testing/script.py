"""A recorded game from the view of one policy: its decisions, and players that repeat the moves of the other seats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ludory.envs import Engine, GameFacts

from .random_moves import random_moves
from .recording import Array, Recording, to_numpy


class PolicyDecision(NamedTuple):
    """What a policy is shown when it has to act, or at the end of the game."""

    step: int
    observation: Array  # (*shape)
    mask: Array  # (A,)
    player: int
    reward: float  # since the previous decision; rewards before the first one count for the second
    terminated: bool
    truncated: bool


def decisions(facts: GameFacts, recording: Recording, row: int, own: int | None) -> list[PolicyDecision]:
    """Decisions of the policy at seat `own` (None: all seats) in one recorded game; the last one is the end of the game."""
    found: list[PolicyDecision] = []
    earned = 0.0
    for step, moment in enumerate(recording.moments):
        over = bool(moment.over[row] if own is None else not moment.alive[row, own])
        earned += float(moment.rewards[row, own or 0])
        if over or own is None or facts.simultaneous or moment.to_move[row] == own:
            seat = int(moment.next_seat[row]) if own is None else own
            mask = moment.masks[row, seat] if facts.simultaneous else moment.masks[row]
            out = over and not moment.over[row]  # the seat is out, and the others play on
            settled = over and own is not None and bool(moment.seat_terminated[row, own])
            ends = bool(moment.terminated[row]) or settled, bool(moment.truncated[row]) and not settled
            player = -1 if out else int(moment.to_move[row])
            found.append(PolicyDecision(step, moment.observations[row, seat], mask | out, player, earned, *ends))
            earned = 0.0 if len(found) > 1 else earned
        if over:
            return found
    return found


def move_of(facts: GameFacts, action: Array, seat: int | None) -> Array:
    """One seat's part of one game's action: () for one head, (H,) for several, (D,) of continuous actions."""
    mine = action[seat or 0] if facts.simultaneous else action
    return np.asarray(mine).reshape(() if len(facts.heads) == 1 else (facts.action_size,))


class ScriptedPlayer:
    """Repeats the recorded moves of one seat in every game until seat `own` is out, then plays at random."""

    def __init__(self, facts: GameFacts, recording: Recording, seat: int, own: int | None) -> None:
        self._facts, self._generator, self._own = facts, np.random.default_rng(seat), own
        games = range(len(recording.moments[0].to_move))
        self._moves = [iter(list(self._recorded(recording, game, seat))) for game in games]

    def _recorded(self, recording: Recording, game: int, seat: int) -> Iterator[Array]:
        for moment, actions in zip(recording.moments, recording.actions, strict=False):
            if self._own is not None and not moment.alive[game, self._own]:
                return
            if moment.deciding[game, seat]:
                yield move_of(self._facts, actions[game], seat)

    def initial_memory(self, rows: int) -> None:
        """None."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: None) -> Array:
        """The next recorded move in each of `rows`, or a random one."""
        moves = [next(self._moves[row], None) for row in rows]
        known = [move for move in moves if move is not None]
        if len(known) == len(moves):
            return np.stack(known)
        masks = to_numpy(engine.legal())[rows]
        drawn = random_moves(masks[:, seat] if masks.ndim == 3 else masks, self._facts, self._generator)
        return np.stack([other if move is None else move for move, other in zip(moves, drawn, strict=True)])

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: None) -> None:
        """Does nothing."""
