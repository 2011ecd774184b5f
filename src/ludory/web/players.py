"""Agents in worker processes: each move has a time limit, and an agent that crashes or hangs takes nothing else with it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from ludory.child_processes import begin_child, start_child
from ludory.errors import LudoryError
from ludory.visible import visible

from .rehearsals import Rehearsals

PREPARE_SECONDS = 180.0
"""Time to make the agents of a table, which may load a network and compile kernels."""
REHEARSAL_SECONDS, RETRY_SECONDS = 300.0, 1.0
"""Time to wait for the rehearsal of an agent that needs compiled code, and how often to ask the agent again."""
QUEUE_SECONDS = 60.0
"""Time to wait for a worker that is free."""
MOST_HELD = 24
"""Tables whose engine and agents a worker keeps between two moves."""


class AgentFailedError(LudoryError, RuntimeError):
    """An agent crashed, hung or refused to play; the message names it."""


class MoveQuestion(NamedTuple):
    """What a worker needs to choose a move; engine and memories are made again from it where it does not have them."""

    table: str
    game: str
    options: dict[str, Any]
    seed: int
    agents: tuple[str, ...]
    """By seat; "" where a person sits."""
    moves: tuple[tuple[int, Any], ...]
    """Seat and action of all moves so far."""
    seat: int
    """Who moves now."""
    rehearsing: bool = False
    """Whether a rehearsal goes on, which compiles what these agents need."""


class MoveAnswer(NamedTuple):
    """What a worker chose."""

    action: int | tuple[int, ...]
    ran_plain: bool
    """Whether it ran kernels in plain Python that had better be compiled."""


class _UncompiledError(Exception):
    """The agent needs code that a rehearsal is compiling."""


class PlayerPool:
    """Up to `workers` processes that choose moves, started when they are needed.

    Args:
        workers: number of processes.
        seconds: time of an agent for one move.
    """

    def __init__(self, workers: int = 2, seconds: float = 30.0) -> None:
        self.seconds = seconds
        self._workers = [_Worker() for _ in range(workers)]
        self._free = threading.Condition()
        self.rehearsals = Rehearsals()
        """Compile games and agents that play in plain Python."""

    def choose(self, question: MoveQuestion) -> int | tuple[int, ...]:
        """The action of `question.seat`: an int, or a tuple of ints in games with several heads.

        Raises:
            AgentFailedError: the agent crashed, did not answer in time or cannot play this game, or all workers are busy.
        """
        about, patient_until = (question.game, question.options, question.agents), time.monotonic() + REHEARSAL_SECONDS
        while True:
            rehearsal = self.rehearsals.of(*about) if time.monotonic() < patient_until else None
            try:
                answer = self._answer(question._replace(rehearsing=rehearsal is not None))
                break
            except _UncompiledError:
                # what it needs is being compiled: ask again, until rehearsals have had their time
                assert rehearsal is not None
                wait([rehearsal], RETRY_SECONDS)
        if answer.ran_plain:
            self.rehearsals.start(*about)
        return answer.action

    def _answer(self, question: MoveQuestion) -> MoveAnswer:
        with self._borrowed(question.table) as worker:
            return worker.choose(question, f"{question.agents[question.seat]} in seat {question.seat}", self.seconds)

    def warm_up(self) -> None:
        """Start a process, so that the first move does not wait for its imports."""
        with self._borrowed("") as worker:
            worker.start()

    @contextmanager
    def _borrowed(self, table: str) -> Iterator[_Worker]:
        """A worker that nobody else uses meanwhile: the one that knows the table, if it is free."""
        # a table keeps to one worker, which then has its engine and its agents' memories
        mine = self._workers[hash(table) % len(self._workers)]
        with self._free:
            deadline = time.monotonic() + QUEUE_SECONDS
            while not (idle := [worker for worker in self._workers if not worker.busy]):
                if not self._free.wait(deadline - time.monotonic()):
                    raise AgentFailedError("all agents are busy with other tables; ask again in a while")
            known = [worker for worker in idle if table in worker.tables]
            worker = known[0] if known else mine if mine in idle else idle[0]
            worker.busy = True
        try:
            yield worker
        finally:
            with self._free:
                worker.busy = False
                self._free.notify()

    def close(self) -> None:
        """End all processes."""
        self.rehearsals.close()
        for worker in self._workers:
            worker.stop()


class _Worker:
    """One process, from the server's side."""

    def __init__(self) -> None:
        self.busy = False
        self.tables: set[str] = set()
        """Tables that it has played at."""
        self._process: Any = None
        self._pipe: Connection | None = None

    def start(self) -> Connection:
        if self._pipe is None or not self._process.is_alive():
            self.stop()
            self._pipe, theirs = Pipe()
            self._process = start_child(_serve, theirs)
            theirs.close()
        return self._pipe

    def choose(self, question: MoveQuestion, name: str, seconds: float) -> MoveAnswer:
        pipe = self.start()
        self.tables.add(question.table)
        try:
            pipe.send(question)
            # two answers: "ready" once engine and agents are made, which may take long, then the move, which has a
            # limit of its own
            self._receive(pipe, PREPARE_SECONDS, f"{name} was not ready")
            answer: MoveAnswer = self._receive(pipe, seconds, f"{name} did not move")
            return answer
        except (EOFError, OSError) as error:
            self._process.join(1)
            code = self._process.exitcode
            self.stop()
            raise AgentFailedError(f"{name} crashed: its process ended with exit code {code}") from error

    def _receive(self, pipe: Connection, seconds: float, late: str) -> Any:
        if not pipe.poll(seconds):
            self.stop()
            raise AgentFailedError(f"{late} within {seconds:g} s; its process was ended")
        kind, value = pipe.recv()
        if kind == "error":
            raise AgentFailedError(value)
        if kind == "uncompiled":
            raise _UncompiledError
        return value

    def stop(self) -> None:
        self.tables.clear()
        if self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._pipe = self._process = None


def _serve(pipe: Connection) -> None:
    """The life of a worker: answer questions until the server goes away."""
    begin_child()
    import ludory.agents.make  # noqa: F401  # so that the first question does not wait for it
    from ludory.envs.engine.binding.checked_cache import NotCompiledError, compiled_elsewhere

    held: OrderedDict[str, PlayedTable] = OrderedDict()
    with suppress(EOFError, OSError):
        while True:
            question = pipe.recv()
            try:
                with compiled_elsewhere() if question.rehearsing else nullcontext():
                    table = _table_for(held, question)
                    pipe.send(("ready", None))
                    action = table.choose(question.seat)
                pipe.send(("action", MoveAnswer(action, table.ran_plain)))
            except NotCompiledError:
                # a table that failed half-way is made anew
                held.pop(question.table, None)
                pipe.send(("uncompiled", None))
            except Exception as error:
                held.pop(question.table, None)
                name = f"{question.agents[question.seat]} in seat {question.seat}"
                said = str(error) if isinstance(error, LudoryError) else f"{type(error).__name__}: {error}"
                pipe.send(("error", f"{name} cannot move: {visible(said)[:500]}"))


def _table_for(held: OrderedDict[str, PlayedTable], question: MoveQuestion) -> PlayedTable:
    """The table of a question at the position it is about."""
    table = held.pop(question.table, None)
    if table is None or not table.leads_to(question):
        table = PlayedTable(question)
    table.follow(question.moves)
    held[question.table] = table
    while len(held) > MOST_HELD:
        held.popitem(last=False)
    return table


class PlayedTable:
    """A table as a worker knows it: an engine with the agents' memories, brought to a position by its moves.

    Args:
        question: names the table; its moves are not played yet.
        plain_start: whether it is played in plain Python until another process has compiled it; see `KernelEngine.plain_start`.
    """

    def __init__(self, question: MoveQuestion, plain_start: bool = True) -> None:
        import numpy as np

        from ludory.agents.make import make_agent
        from ludory.envs.engine.kernel_engine import KernelEngine
        from ludory.envs.make import make_engine, make_game
        from ludory.envs.seats.player import memory_of_new_games

        self._made_for = question[:5]
        game = make_game(question.game, **question.options)
        self._engine = make_engine(game, seed=question.seed)
        if isinstance(self._engine, KernelEngine):
            self._engine.plain_start = plain_start
        self._engine.reset()
        self._players = [make_agent(agent, game) if agent else None for agent in question.agents]
        self._rows = np.zeros(1, np.int64)
        self._memories = [
            memory_of_new_games(player, self._engine, seat, self._rows) if player else None
            for seat, player in enumerate(self._players)
        ]
        self._moves: list[tuple[int, Any]] = []
        self._asked: set[int] = set()
        """Seats whose agent has chosen at this position, so that its memory includes it."""

    @property
    def ran_plain(self) -> bool:
        """Whether kernels have run in plain Python."""
        return getattr(self._engine, "ran_plain", False)

    def leads_to(self, question: MoveQuestion) -> bool:
        """Whether this is the same table at the same or an earlier position."""
        return question[:5] == self._made_for and question.moves[: len(self._moves)] == tuple(self._moves)

    def follow(self, moves: Sequence[tuple[int, Any]]) -> None:
        """Play the moves that are new."""
        import numpy as np

        for seat, action in moves[len(self._moves) :]:
            self._remember(seat)
            actions = np.array(action, np.int64)[None]
            if not self._engine.facts.simultaneous:
                for other, player in enumerate(self._players):
                    if player is not None:
                        player.notice(self._engine, other, self._rows, actions, self._memories[other])
            self._engine.step(actions)
            self._moves.append((seat, action))
            self._asked.clear()

    def _remember(self, mover: int) -> None:
        """Bring the memories of agents that chose at this position, in another process, up to it."""
        from ludory.agents.seat import SeatAgent

        together = self._engine.facts.simultaneous
        for seat, player in enumerate(self._players):
            if player is None or seat in self._asked or isinstance(player, SeatAgent):
                continue  # a SeatAgent remembers moves, not its choices
            if (together and self._engine.deciding[0, seat]) or seat == mover:
                player.choose(self._engine, seat, self._rows, self._memories[seat])
            elif together and self._engine.game.seats_wait and self._engine.alive[0, seat]:
                player.look_on(self._engine, seat, self._rows, self._memories[seat])

    def choose(self, seat: int) -> int | tuple[int, ...]:
        """The action of `seat`, as int or tuple of int."""
        from ludory.data.playthrough import as_tuples

        player = self._players[seat]
        assert player is not None
        self._asked.add(seat)
        action: int | tuple[int, ...] = as_tuples(
            player.choose(self._engine, seat, self._rows, self._memories[seat])[0]
        )
        return action
