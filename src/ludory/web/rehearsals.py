"""Rehearsals: games and their agents are compiled in a process of low priority, while people play on in plain Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, NamedTuple

from ludory.child_processes import begin_child, kill_pool, process_pool
from ludory.errors import LudoryError

MOST_WAITING = 8
"""Rehearsals that wait for the process."""
MOST_KNOWN = 1000
NICENESS = 5
"""Less than what a person waits for, and still enough where other programs keep the machine busy."""
ROUNDS = 2
"""Moves of every seat in a rehearsal: the second one finds memories that are not empty."""


class Cast(NamedTuple):
    """What is rehearsed: a game with who sits where."""

    game: str
    options: str
    agents: tuple[str, ...]

    @classmethod
    def of(cls, game: str, options: Mapping[str, Any], agents: Sequence[str]) -> Cast:
        """That of a table; `agents` as in `TableSeat`."""
        return cls(game, repr(sorted(options.items())), tuple(agents))


class Rehearsals:
    """Each cast is rehearsed once at most, one after the other; the process ends when nothing is left to do."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._known: dict[Cast, Future[None]] = {}
        self._studies: dict[Cast, Future[None]] = {}
        self._lock = threading.RLock()  # a callback may run at once, in the thread that adds it
        self._closed = False

    def start(self, game: str, options: Mapping[str, Any], agents: Sequence[str]) -> None:
        """Compile, in the background, what a table of this game with these agents needs."""
        self._once(self._known, _rehearse, game, options, agents)

    def study(self, game: str, options: Mapping[str, Any], agents: Sequence[str]) -> None:
        """Compile, too, what an analysis of such a game needs, if the game itself had to be rehearsed."""
        cast = Cast.of(game, options, agents)
        if any(known[:2] == cast[:2] for known in tuple(self._known)):
            self._once(self._studies, _study, game, options, agents)

    def _once(
        self, done: dict[Cast, Future[None]], work: Any, game: str, options: Mapping[str, Any], agents: Sequence[str]
    ) -> None:
        cast = Cast.of(game, options, agents)
        with self._lock:
            waiting = sum(not one.done() for one in self._all())
            if self._closed or cast in done or waiting >= MOST_WAITING or len(done) >= MOST_KNOWN:
                return
            if self._pool is None:
                self._pool = process_pool(1, _begin)
            with suppress(BrokenProcessPool):  # the one before crashed just now: the agents compile for themselves
                done[cast] = self._pool.submit(work, game, dict(options), tuple(agents))
                done[cast].add_done_callback(lambda _: self._end_if_idle())

    def _all(self) -> list[Future[None]]:
        return [*self._known.values(), *self._studies.values()]

    def _end_if_idle(self) -> None:
        with self._lock:
            if self._pool is not None and all(one.done() for one in self._all()):
                self._pool.shutdown(wait=False)
                self._pool = None

    def of(self, game: str, options: Mapping[str, Any], agents: Sequence[str]) -> Future[None] | None:
        """The rehearsal that goes on for such a table; None if there is none."""
        going = self._known.get(Cast.of(game, options, agents))
        return None if going is None or going.done() else going

    def close(self) -> None:
        """End the process."""
        with self._lock:
            pool, self._pool, self._closed = self._pool, None, True
        kill_pool(pool)


def _begin() -> None:
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    begin_child()


def _rehearse(game: str, options: dict[str, Any], agents: tuple[str, ...]) -> None:
    """Compile first what plain Python is too slow for, then the rest."""
    for plain_start in (True, False):
        _play_some_moves(game, options, agents, plain_start)


def _play_some_moves(
    game: str, options: dict[str, Any], agents: tuple[str, ...], plain_start: bool
) -> Sequence[tuple[int, Any]]:
    """Play as the server and its workers do; persons play their first legal move. Returns the moves."""
    from .players import MoveQuestion, PlayedTable
    from .position import started_position

    position = started_position(game, options, 0, plain_start)
    if position.game.rules.engine is not None:  # its rules run elsewhere
        return []
    played, moves = PlayedTable(MoveQuestion("", game, options, 0, agents, (), -1), plain_start), []
    for _ in range(ROUNDS * len(agents)):
        if position.over:
            break
        chosen = {seat: played.choose(seat) for seat in position.deciding() if agents[seat]}
        moves.append(position.play_chosen(chosen))
        played.follow(moves)
    return moves


def _study(game: str, options: dict[str, Any], agents: tuple[str, ...]) -> None:
    """Analyse a position of a game as the server does when somebody asks for it."""
    from ludory.data.playthrough import PlayedMove
    from ludory.data.replay import Replay

    from .analysis.pieces import PositionQuestion, refine_position

    if played := tuple(PlayedMove(*move) for move in _play_some_moves(game, options, agents, plain_start=False)):
        names = tuple(agent or "human" for agent in agents)
        replay = Replay(game, options, 0, 0, {}, names, played, (0.0,) * len(agents), False)
        with suppress(LudoryError):  # some games have no analysis
            refine_position(PositionQuestion(replay, len(played) - 1), 0)
