"""`Table`: an engine with players in some seats. Views, evaluation and samplers play their games at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ludory.envs.engine.protocol import Array, Engine, on_host
from ludory.envs.facts import GameFacts

from .player import Memory, Player, memory_of_new_games, named_arrays, put

Listener = Callable[[Array, Array, Array], None]
"""Called as `listener(rows, seats, actions)` when `seats` are about to play `actions` in the games `rows`."""


def no_actions(facts: GameFacts, *shape: int) -> Array:
    """Zeros for actions: (*shape,) for one head, (*shape, H) for several, float32 (*shape, D) for continuous actions."""
    if facts.box is not None:
        return np.zeros((*shape, facts.action_size), np.float32)
    return np.zeros((*shape, len(facts.heads)) if len(facts.heads) > 1 else shape, np.int64)


def first_legal(masks: Array, facts: GameFacts) -> Array:
    """The first legal value of each head, (..., H), under masks (..., A); for continuous actions the action nearest to 0, (..., D)."""
    if facts.box is not None:
        nearest = np.clip(0, facts.box.low, facts.box.high).astype(np.float32)
        return np.broadcast_to(nearest, (*masks.shape[:-1], len(nearest))).copy()
    edges = np.cumsum(facts.head_sizes)[:-1]
    return np.stack([part.argmax(-1) for part in np.split(masks, edges, -1)], -1)


def tell_of_moves(listener: Listener | None, engine: Engine, actions: Array, rows: Array | None = None) -> None:
    """Report the moves about to be played in running games to `listener`, if there is one; arguments as for `Engine.step`."""
    if listener is None:
        return
    chosen = np.arange(engine.num_games) if rows is None else on_host(rows)
    to_move = on_host(engine.to_move)[chosen]
    running = to_move >= 0
    listener(chosen[running], to_move[running], on_host(actions)[running])


class Table:
    """Seats with a player move by themselves; free seats (None) wait for `play`.

    `rewards` (N, P) is the sum of rewards since the last decision of a free seat, including those of the players' moves.
    The seats to move are determined on the host, so rows and rewards are NumPy arrays on every device.
    """

    def __init__(self, engine: Engine, players: Sequence[Player | None]) -> None:
        self.engine, self.players = engine, list(players)
        self.taken = np.array([player is not None for player in players])
        self.memories: list[Memory] = self._new_memories(np.arange(engine.num_games))
        self.rewards: Array = np.zeros((engine.num_games, len(players)), np.float32)
        self.listener: Listener | None = None
        """Called for every move of sequential games, including those of free seats, before it is applied."""

    def start(
        self, rows: Array | None = None, options: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Start new games in `rows` (default all) and play up to the first decision of a free seat."""
        rows = self._rows(rows)
        self.engine.reset(rows, options=options, seed=seed)
        for memory, new in zip(self.memories, self._new_memories(rows), strict=True):
            put(memory, new, rows)
        self.rewards[rows] = 0
        self._play_taken_seats()

    def _new_memories(self, rows: Array) -> list[Memory]:
        return [
            memory_of_new_games(player, self.engine, seat, rows) if player else None
            for seat, player in enumerate(self.players)
        ]

    def state(self) -> dict[str, Array]:
        """Memories of the players in the running games, by name. Memories that are not numeric are left out."""
        return {name: array for name, array in self._arrays().items() if array.dtype != object}

    def restore(self, state: Mapping[str, Array]) -> bool:
        """Restore what `state` returned; returns False if a memory is missing, in which case the games must be reset."""
        self.memories = self._new_memories(np.arange(self.engine.num_games))
        known = self._arrays()
        if any(name not in state or state[name].shape != array.shape for name, array in known.items()):
            return False
        for name, array in known.items():
            value = on_host(state[name])
            array[:] = value if isinstance(array, np.ndarray) else array.new_tensor(value)
        return True

    def _arrays(self) -> dict[str, Array]:
        parts = [named_arrays(memory, str(seat)) for seat, memory in enumerate(self.memories)]
        return {name: array for part in parts for name, array in part.items()}

    def play(self, actions: Array, rows: Array | None = None) -> None:
        """Play the actions of free seats (as for `Engine.step`), then those of players up to the next decision of a free seat.

        rows: play in these games only; `actions` then has len(rows) entries, and all other games have reward 0.
        """
        self.rewards[:] = 0
        if self.engine.facts.simultaneous:
            self._step(self._fill_taken(on_host(actions).copy(), rows), rows)
            return
        actions, chosen = on_host(actions), self._rows(rows)
        waiting = self._to_move[chosen] >= 0
        self._notify(chosen[waiting], actions[waiting])
        self._step(actions, rows)
        self._play_taken_seats()

    def _rows(self, rows: Array | None) -> Array:
        return np.arange(self.engine.num_games) if rows is None else on_host(rows)

    @property
    def _to_move(self) -> Array:
        return on_host(self.engine.to_move)

    def run(self) -> None:
        """Play all games to their end; every seat must be taken."""
        facts = self.engine.facts
        while facts.simultaneous and (self._to_move >= 0).any():
            seats = no_actions(facts, self.engine.num_games, facts.players)
            cube = seats.reshape(self.engine.num_games, facts.players, facts.action_size)
            self._step(self._fill_taken(cube))
        self._play_taken_seats()

    def _play_taken_seats(self) -> None:
        if self.engine.facts.simultaneous or not self.taken.any():
            return
        while len(rows := self._rows_of_taken_seats()):
            seats = self._to_move[rows]
            actions = no_actions(self.engine.facts, len(rows))
            for seat in np.unique(seats):
                part = seats == seat
                actions[part] = self._choose(int(seat), rows[part])
            self._notify(rows, actions)
            self._step(actions, rows)

    def _rows_of_taken_seats(self) -> Array:
        to_move = self._to_move
        return np.flatnonzero((to_move >= 0) & self.taken[to_move])

    def _choose(self, seat: int, rows: Array) -> Array:
        player = self.players[seat]
        assert player is not None
        return on_host(player.choose(self.engine, seat, rows, self.memories[seat]))

    def _fill_taken(self, actions: Array, rows: Array | None = None) -> Array:
        rows = self._rows(rows)
        running, must_act = self._to_move[rows] >= 0, on_host(self.engine.deciding)[rows]
        for seat in np.flatnonzero(self.taken):
            acts, waits = running & must_act[:, seat], running & ~must_act[:, seat]
            if acts.any():
                actions[acts, seat] = self._choose(int(seat), rows[acts]).reshape(acts.sum(), -1)
            if waits.any():  # only one action is left, so the player is not asked
                actions[waits, seat] = first_legal(on_host(self.engine.legal())[rows[waits], seat], self.engine.facts)
                self._look_on(int(seat), rows[waits])
        return actions

    def _look_on(self, seat: int, rows: Array) -> None:
        """Call `look_on` of the player of a waiting seat, if it has one, in those of `rows` where the seat is not out."""
        look_on = getattr(self.players[seat], "look_on", None)
        if look_on is not None and self.engine.game.seats_wait:
            living = rows[on_host(self.engine.alive)[rows, seat]]
            if len(living):
                look_on(self.engine, seat, living, self.memories[seat])

    def _notify(self, rows: Array, actions: Array) -> None:
        if self.listener and len(rows):
            self.listener(rows, self._to_move[rows], actions)
        for seat, player in enumerate(self.players):
            if player and len(rows):
                player.notice(self.engine, seat, rows, actions, self.memories[seat])

    def _step(self, actions: Array, rows: Array | None = None) -> None:
        self.engine.step(actions, rows)
        self.rewards += on_host(self.engine.rewards)
