"""`ProcessPool`: environments in worker processes; observations and actions are exchanged through shared memory."""

from __future__ import annotations

import ctypes
import os
import pickle
import selectors
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any, Literal, NamedTuple

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from ludory.child_processes import CHILDREN, start_child
from ludory.errors import OptionError, WorkerError

from . import pool_worker

SECONDS_TO_START = 120.0
"""Time for a worker to import its libraries and make its environments."""
SECONDS_TO_END = 2.0
"""Time for a worker to close its environments before it is killed."""
REMEMBERED = 8
"""Number of last actions of an environment that errors show."""

OnCrash = Literal["raise", "restart"]
"""What follows when a process ends by itself: an error, or a new process whose games begin anew."""


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection
    start: int
    stop: int


class _PipeSelector(selectors.SelectSelector):
    """For Windows, whose selectors take sockets only."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What can be read, after `timeout` seconds at most."""
        pipes: dict[Any, selectors.SelectorKey] = {key.fileobj: key for key in self.get_map().values()}
        return [(pipes[pipe], selectors.EVENT_READ) for pipe in wait(list(pipes), timeout)]


def _selector() -> selectors.BaseSelector:
    return selectors.DefaultSelector() if hasattr(selectors, "PollSelector") else _PipeSelector()


class ProcessPool:
    """n environments in blocks, each played by one of `workers` processes, or all in this process with workers=0.

    A worker receives one message per step, however many environments it plays; observations and actions are in shared memory.
    Workers are spawned, because a fork would leave the threads of this process (of Numba and torch) in an unknown state.
    They do not import the caller's main module; classes defined there are sent by value. Workers end when the pool is no longer
    referenced and when this process ends, also by a signal.

    Args:
        factories: one function per environment that makes it, or a `GameBlocks`, whose blocks play many games each; anything that
            cloudpickle accepts.
        layout: shape per environment and dtype of the arrays that environments write, by name.
        action: shape and dtype of an action.
        workers: number of processes, at most n; 0: none.
        timeout: seconds that a worker may take for one step of all its environments.
        on_crash: "raise": an environment that fails, or a worker that crashes or hangs, raises a WorkerError. "restart": `step` and
            `reset` return the affected rows, and new environments replace the lost ones at the next reset.
        new_game: values of the arrays before a reset, by name. If given, worker processes start an environment's next game as soon as
            its arrays `terminated` or `truncated` say that one is over, from the seed in `arrays["next_seed"]`; a `reset` with that seed
            and without options then needs no message. Without workers it has no effect.

    Raises:
        OptionError: an argument is not allowed.
        WorkerError: a worker cannot make its environments.
    """

    def __init__(
        self,
        factories: Sequence[pool_worker.EnvironmentFactory] | pool_worker.GameBlocks,
        layout: Mapping[str, pool_worker.ArraySpec],
        action: pool_worker.ArraySpec,
        workers: int = 0,
        timeout: float = 60.0,
        on_crash: OnCrash = "raise",
        new_game: Mapping[str, Any] | None = None,
    ) -> None:
        _check_options(workers, timeout, on_crash)
        self._factories = factories if isinstance(factories, pool_worker.GameBlocks) else list(factories)
        self._count = factories.games if isinstance(factories, pool_worker.GameBlocks) else len(factories)
        self._names, self._new_game = list(layout), new_game if workers else None
        ahead = {} if self._new_game is None else {pool_worker.AHEAD + name: spec for name, spec in layout.items()}
        self._layout = {**layout, **ahead, **pool_worker.ORDERS, "action": action}
        self._timeout, self._on_crash = timeout, on_crash
        # a ring of the last actions for each environment, for messages only
        self._told = np.zeros((self._count, REMEMBERED, *action.shape), action.dtype)
        self._moves = np.zeros(self._count, np.int64)
        self.last_error: WorkerError | None = None
        """The last error, also with on_crash="restart"."""
        self.block: pool_worker.GameBlock | None = None
        """The games of this process, None if workers play them."""
        self._closed = False
        self._workers: list[_Worker] = []
        self._late: set[int] = set()  # workers that have not answered yet
        size = pool_worker.array_bytes(self._layout, self._count)
        if workers == 0:
            self.arrays = pool_worker.arrays_in(bytearray(size), self._layout, self._count)
            self.block = (
                self._factories.make(0, self._count, self.arrays)
                if isinstance(self._factories, pool_worker.GameBlocks)
                else pool_worker.EnvironmentBlock(self._factories, 0, self.arrays, self._names)
            )
            return
        self._context = CHILDREN
        self._memory = self._context.RawArray(ctypes.c_byte, size)
        self.arrays = pool_worker.arrays_in(self._memory, self._layout, self._count)
        self.arrays["ahead_seed"][:] = pool_worker.NONE_AHEAD
        self._selector = _selector()
        # weakly: the finalizer must not keep the pool alive, and runs at exit too
        self._finalizer = weakref.finalize(self, _end_workers, self._workers, self._selector, os.getpid())
        edges = np.linspace(0, self._count, min(workers, self._count) + 1).astype(int)
        self._worker_of = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            self._workers.append(self._start_worker(start, stop))
        self._register(range(len(self._workers)))
        try:
            if found := self._answers(range(len(self._workers)), SECONDS_TO_START):
                raise self._error(found)
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """Number of worker processes, 0 if the environments are in this process."""
        return len(self._workers)

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid for worker in self._workers if worker.process.pid is not None]

    @property
    def environments(self) -> Sequence[pool_worker.Environment | None]:
        """The environments of this process, () if workers play them; None stands for an environment that failed."""
        return self.block.environments if isinstance(self.block, pool_worker.EnvironmentBlock) else ()

    def reset(
        self, rows: NDArray[np.int64], seeds: NDArray[np.int64], options: Mapping[int, Mapping[str, Any]] | None = None
    ) -> NDArray[np.int64]:
        """Start new games in `rows` with `seeds` (m,) and options by row. Returns the rows that failed (see `on_crash`)."""
        self.arrays["seed"][rows] = seeds
        self._moves[rows] = 0
        if self._new_game is not None:
            ahead = self.arrays["ahead_seed"]
            # started ahead only if the seed is the one that was announced, and no option asks for another start
            ready = (ahead[rows] == seeds) & (options is None)
            started, rows = rows[ready], rows[~ready]
            for name in self._names if len(started) else ():
                self.arrays[name][started] = self.arrays[pool_worker.AHEAD + name][started]
            # used up, or of another seed
            ahead[started] = ahead[rows] = pool_worker.NONE_AHEAD
            if not len(rows):
                return rows
        return self._exchange(rows, pool_worker.RESET, options or {})

    def step(self, rows: NDArray[np.int64], actions: NDArray[Any]) -> NDArray[np.int64]:
        """Play actions `(m, *shape)` in `rows`; returns the rows that failed (see `on_crash`)."""
        self.arrays["action"][rows] = actions
        self._told[rows, self._moves[rows] % REMEMBERED] = actions
        self._moves[rows] += 1
        return self._exchange(rows, pool_worker.STEP, {})

    def call(self, row: int, method: str, *arguments: Any) -> Any:
        """Call a method of the block that plays game `row`, by name; the result travels as a pickle.

        Raises:
            WorkerError: the method failed, or its worker crashed or hung, whatever `on_crash` says.
        """
        self._check_open()
        if self.block is not None:
            return getattr(self.block, method)(*arguments)
        number = int(self._worker_of[row])
        worker = self._workers[number]
        try:
            worker.connection.send_bytes(pool_worker.CALL + cloudpickle.dumps((worker.start, method, arguments)))
            if not worker.connection.poll(self._timeout):
                raise self._error([self._lost(number, f"did not answer within {self._timeout:g} seconds")])
            message = worker.connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._error([self._lost(number, "died")]) from error
        if message[:1] == pool_worker.FAULTS:
            raise self._error([(None, fault) for fault in pickle.loads(message[1:])])
        return pickle.loads(message[1:])

    def rows_of_workers(self) -> list[range]:
        """The games of each block, in order."""
        self._check_open()
        if self.block is not None:
            return [range(self._count)]
        return [range(worker.start, worker.stop) for worker in self._workers]

    def _exchange(
        self, rows: NDArray[np.int64], order: int, options: Mapping[int, Mapping[str, Any]]
    ) -> NDArray[np.int64]:
        self._check_open()
        if self.block is not None:
            self.arrays["order"][rows] = order
            return self._failed([(None, fault) for fault in self.block.obey(options)])
        found: list[tuple[int | None, pool_worker.EnvironmentFault]] = []
        if self._late:  # an interrupt came between a request and its answer
            found = self._answers(sorted(self._late), self._timeout)
            if any(number is not None for number, _ in found):
                return self._failed(found)
        self.arrays["order"][rows] = order
        asked = range(len(self._workers)) if len(rows) == self._count else np.unique(self._worker_of[rows]).tolist()
        for number in asked:
            worker = self._workers[number]
            mine = {row: given for row, given in options.items() if worker.start <= row < worker.stop}
            with suppress(OSError):  # it is dead, which `_answers` notices
                worker.connection.send_bytes(
                    pool_worker.GO_WITH_OPTIONS + cloudpickle.dumps(mine) if mine else pool_worker.GO
                )
        return self._failed(found + self._answers(asked, self._timeout))

    def _answers(self, asked: Sequence[int], seconds: float) -> list[tuple[int | None, pool_worker.EnvironmentFault]]:
        """Wait for the workers `asked`. Returns the faults, each with the number of the worker to start again, or None."""
        found: list[tuple[int | None, pool_worker.EnvironmentFault]] = []
        self._late.update(asked)
        end = monotonic() + seconds
        # until all have answered: an answer that came late must not be taken for that of the next request
        while self._late:
            ready = self._selector.select(max(0.0, end - monotonic()))
            for key, _ in ready:
                if key.data in self._late:
                    found += self._answer(key.data)
            if not ready and monotonic() >= end:
                found += [
                    self._lost(number, f"did not answer within {seconds:g} seconds") for number in sorted(self._late)
                ]
        return found

    def _answer(self, number: int) -> list[tuple[int | None, pool_worker.EnvironmentFault]]:
        try:
            message = self._workers[number].connection.recv_bytes()
        except (EOFError, OSError):
            process = self._workers[number].process
            # an exit code is there only after the process was joined
            process.join(SECONDS_TO_END)
            return [self._lost(number, f"died with exit code {process.exitcode}")]
        self._late.discard(number)
        if message[:1] != pool_worker.FAULTS:
            return []
        return [(None, fault) for fault in pickle.loads(message[1:])]

    def _lost(self, number: int, what: str) -> tuple[int | None, pool_worker.EnvironmentFault]:
        """Kill a worker and return a fault for it, in which its first row stands for all its rows."""
        self._late.discard(number)
        worker = self._workers[number]
        self._selector.unregister(worker.connection)
        worker.connection.close()
        _kill(worker.process)
        return number, pool_worker.EnvironmentFault(worker.start, what)

    def _failed(self, found: list[tuple[int | None, pool_worker.EnvironmentFault]]) -> NDArray[np.int64]:
        """The rows affected by `found`, after replacing the workers that were lost."""
        if not found:
            return np.empty(0, np.int64)
        self.last_error = self._error(found)
        lost = [number for number, _ in found if number is not None]
        if self._on_crash == "raise":
            if lost:
                self.close()
            raise self.last_error
        rows = [np.array([fault.row]) for number, fault in found if number is None]
        for number in lost:
            worker = self._workers[number]
            rows.append(np.arange(worker.start, worker.stop))
            # what the dead worker did not carry out must not reach its successor
            self.arrays["order"][worker.start : worker.stop] = 0
            self.arrays["ahead_seed"][worker.start : worker.stop] = pool_worker.NONE_AHEAD
            self._workers[number] = self._start_worker(worker.start, worker.stop)
        self._register(lost)
        if again := self._answers(lost, SECONDS_TO_START):
            error = self._error(again)
            self.close()
            raise error
        return np.unique(np.concatenate(rows))

    def _error(self, found: list[tuple[int | None, pool_worker.EnvironmentFault]]) -> WorkerError:
        number, (row, text) = min(found, key=lambda one: one[1].row)  # the same whichever worker answered first
        if number is None:
            lines = text.rstrip()
            between = "\n" if "\n" in lines else " "
            return WorkerError(f"environment {row} failed after the actions {self._last_actions(row)}:{between}{lines}")
        worker = self._workers[number]
        shown = "\n".join(
            f"  environment {k}, last actions {self._last_actions(k)}"
            for k in range(worker.start, min(worker.stop, worker.start + REMEMBERED))
        )
        return WorkerError(
            f"worker {number} of {len(self._workers)}, with the environments {worker.start}..{worker.stop - 1}, {text}; "
            f'to go on without their games, type on_crash="restart"\n{shown}'
        )

    def _last_actions(self, row: int) -> list[Any]:
        """The last actions of an environment in its current game, oldest first."""
        moves = int(self._moves[row])
        kept = self._told[row, [k % REMEMBERED for k in range(max(0, moves - REMEMBERED), moves)]]
        told: list[Any] = (kept[:, 0] if kept.ndim == 2 and kept.shape[1] == 1 else kept).tolist()
        return told

    def _start_worker(self, start: int, stop: int) -> _Worker:
        mine, theirs = self._context.Pipe()
        made = self._factories if isinstance(self._factories, pool_worker.GameBlocks) else self._factories[start:stop]
        factories = cloudpickle.dumps(made)
        process = start_child(
            pool_worker.work,
            *(theirs, self._memory, self._layout, self._names, self._count, start, stop, factories, self._new_game),
            name=f"ludory environments {start}..{stop - 1}",
        )
        # this side's copy: as long as it is open, the end of the worker is not noticed
        theirs.close()
        return _Worker(process, mine, start, stop)

    def _register(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._selector.register(self._workers[number].connection, selectors.EVENT_READ, number)

    def _check_open(self) -> None:
        if self._closed or (self.block is None and not self._workers):
            raise WorkerError("the pool is closed; make a new one")

    def close(self) -> None:
        """Close all environments and end the workers; may be called twice."""
        self._closed = True
        if self.block is not None:
            self.block.close()
        elif self._finalizer.alive:
            self._finalizer()


def _check_options(workers: Any, timeout: Any, on_crash: Any) -> None:
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 0:
        raise OptionError(f"workers={workers!r}: must be a number of processes, or 0 for none")
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise OptionError(f"worker_timeout={timeout!r}: must be a number of seconds above 0")
    if on_crash not in ("raise", "restart"):
        raise OptionError(f"on_crash={on_crash!r}: must be 'raise' or 'restart'")


def _kill(process: BaseProcess) -> None:
    process.kill()
    process.join()


def _end_workers(workers: list[_Worker], selector: selectors.BaseSelector, owner: int) -> None:
    """Ask all workers to end, and kill those that do not. Does nothing in a forked child of the pool's process."""
    if os.getpid() != owner:
        return
    for worker in workers:
        with suppress(OSError):  # it is gone, or its connection is closed
            worker.connection.send_bytes(pool_worker.QUIT)
    end = monotonic() + SECONDS_TO_END
    for worker in workers:
        worker.process.join(max(0.0, end - monotonic()))
        if worker.process.is_alive():
            _kill(worker.process)
        worker.connection.close()
    workers.clear()
    selector.close()
