"""`ProcessWorkers`: tasks and actors in processes of this machine."""

from __future__ import annotations

import atexit
import itertools
import os
import pickle
import queue
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import cloudpickle

from ludory.child_processes import begin_child, start_child
from ludory.errors import LostWorkerError

from .failure import LostWork
from .workers import Actor, Lent, Pending, Workers, one_thread_each

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Tasks that are handed out for each process, so that none waits for its next one."""


class ProcessWorkers(Workers):
    """Processes with one thread each, started when they are needed.

    Args:
        count: of processes that run tasks; each actor has one more for itself.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        # values are lent as files, which a worker reads when it asks for one
        self._folder = tempfile.TemporaryDirectory(prefix="ludory-workers-")
        self._numbers = itertools.count()
        self._threads = ThreadPoolExecutor(count)
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._workers = [_Worker() for _ in range(count)]
        for worker in self._workers:
            self._idle.put(worker)
        self._actors = weakref.WeakSet[_ActorProcess]()
        self._owner = os.getpid()
        # before multiprocessing waits for its children
        atexit.register(self.close)

    @property
    def count(self) -> int:
        """As `Workers.count`."""
        return self._count

    def close(self) -> None:
        """End all processes; may be called twice, and does nothing in a forked child."""
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return
        for actor in list(self._actors):
            actor.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()
        self._threads.shutdown()
        self._folder.cleanup()

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """As `Workers.map`; about `AHEAD` tasks a process are handed out, results that come early wait for their turn."""
        run, left, losses = cloudpickle.dumps(function), enumerate(tasks), LostWork("task")
        handed_out: dict[int, tuple[T, ProcessPending]] = {}
        try:
            for following in itertools.count():
                for number, task in itertools.islice(left, AHEAD * self._count - len(handed_out)):
                    handed_out[number] = task, self._submit(run, task)
                if following not in handed_out:
                    return
                while True:
                    task, pending = handed_out[following]
                    try:
                        yield pending.result()
                        break
                    except LostWorkerError as error:
                        losses.add(following, error)
                        handed_out[following] = task, self._submit(run, task)
                del handed_out[following]
        finally:
            # after errors, and when the caller reads no more results
            for _, pending in handed_out.values():
                pending.cancel()

    def share(self, value: T) -> Any:
        """As `Workers.share`: a file."""
        return _Shared(self.lend(value))

    def start(self, function: Callable[[T], Any], task: T) -> ProcessPending:
        return self._submit(cloudpickle.dumps(function), task, function)

    def lend(self, value: object) -> LentFile:
        """As `Workers.lend`: a file, which goes with the last reference to it in this process."""
        file = Path(self._folder.name) / str(next(self._numbers))
        file.write_bytes(cloudpickle.dumps(value))
        return LentFile(file, ours=True)

    def actor(self, make: Callable[..., object], *args: Any) -> Actor:
        """As `Workers.actor`: in a process of its own."""
        actor = _ActorProcess(make, args)
        self._actors.add(actor)
        return actor

    def first(self, pending: Sequence[Any]) -> int:
        done, _ = wait([one.future for one in pending], return_when=FIRST_COMPLETED)
        return next(number for number, one in enumerate(pending) if one.future in done)

    def _submit(self, function: bytes, task: object, *kept: object) -> ProcessPending:
        message = cloudpickle.dumps((_RUN, function, (task,)))
        pending = ProcessPending()

        def run(*_kept: object) -> bytes:
            # in the thread: as many calls run as there are processes, so that one is always idle
            pending.worker = worker = self._idle.get()
            try:
                return worker.ask(message, pending)
            finally:
                self._idle.put(worker)

        # what is lent to a call lives until its end, even if nobody else holds it
        pending.future = self._threads.submit(run, task, *kept)
        return pending


class ProcessPending(Pending):
    """As `Pending`; its future is the answer of a process, pickled."""

    def __init__(self) -> None:
        self.future: Future[bytes]
        self.worker: _Worker | None = None
        """Whose it is, from the start of its work."""
        self.given_up = False

    def result(self) -> Any:
        good, value = pickle.loads(self.future.result())
        if good:
            return value
        raise value

    def cancel(self) -> None:
        self.given_up = True
        if not self.future.cancel() and self.worker is not None:
            self.worker.kill(self)


class LentFile(Lent):
    """As `Lent`.

    Args:
        file: with the pickled value.
        ours: it goes when this object does; copies at workers leave it.
    """

    def __init__(self, file: Path, ours: bool = False) -> None:
        self._file = file
        if ours:
            weakref.finalize(self, file.unlink, missing_ok=True)

    def get(self) -> Any:
        return pickle.loads(self._file.read_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return LentFile, (self._file,)


class _Shared:
    """A value that calls get in place of this."""

    def __init__(self, lent: LentFile) -> None:
        self.lent = lent


class _ActorProcess(Actor):
    """As `Actor`: a process that holds the object, and a thread that waits for its answers."""

    def __init__(self, make: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._worker, self._thread = _Worker(again=False), ThreadPoolExecutor(1)
        message = cloudpickle.dumps((_MAKE, make, args))
        self._made = self._thread.submit(lambda *_kept: self._worker.ask(message), make, args)

    def call(self, method: str, *args: Any) -> ProcessPending:
        pending, message = ProcessPending(), cloudpickle.dumps((_CALL, method, args))

        def run(*_kept: object) -> bytes:
            good, _ = pickle.loads(made := self._made.result())
            if not good:
                return made
            pending.worker = self._worker
            return self._worker.ask(message, pending)

        pending.future = self._thread.submit(run, args)
        return pending

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._worker.end()
        self._thread.shutdown()


class _Worker:
    """A process, from this side.

    Args:
        again: start another one when it is gone; else it stays gone.
    """

    def __init__(self, again: bool = True) -> None:
        self._again, self._gone = again, False
        self._process: BaseProcess | None = None
        self._connection: Connection
        self._asked: ProcessPending | None = None
        self._lock = threading.Lock()

    def ask(self, message: bytes, pending: ProcessPending | None = None) -> bytes:
        """The answer to the message of a call.

        Raises:
            LostWorkerError: the process ended instead.
        """
        with self._lock:
            self._asked = pending
            if self._gone or (pending is not None and pending.given_up):
                raise LostWorkerError("a worker is gone, and what it held with it")
            if self._process is None or not self._process.is_alive():
                self._connection, theirs = Pipe()
                self._process = start_child(_serve, theirs, name="ludory worker", daemon=False)
                # as long as this side's copy is open, the end of the process is not noticed
                theirs.close()
        try:
            self._connection.send_bytes(message)
            return self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            self._gone |= not self._again
            self._process.join()
            code = self._process.exitcode
            raise LostWorkerError(f"a worker is gone: its process ended with exit code {code}") from error
        finally:
            with self._lock:
                self._asked = None

    def kill(self, asked: ProcessPending) -> None:
        """End the process, unless it works on another call by now."""
        with self._lock:
            if self._process is not None and self._asked is asked:
                self._process.kill()

    def end(self) -> None:
        """End the process, whatever it does, for good."""
        with self._lock:
            self._gone = True
            if self._process is not None:
                self._process.kill()
                self._process.join()


_RUN, _MAKE, _CALL = "run", "make", "call"


def _serve(connection: Connection) -> None:
    """The life of a worker: answer messages until the connection is closed."""
    begin_child()
    one_thread_each()
    held: Any = None
    with suppress(EOFError, OSError):
        while True:
            message = connection.recv_bytes()
            try:
                kind, what, args = pickle.loads(message)
                values = [one.lent.get() if isinstance(one, _Shared) else one for one in args]
                if kind == _MAKE:
                    held, value = what(*values), None
                else:
                    value = (getattr(held, what) if kind == _CALL else pickle.loads(what))(*values)
                answer = cloudpickle.dumps((True, value))
            except Exception as error:
                answer = _failed(error)  # a task that fails does not end its worker
            connection.send_bytes(answer)


def _failed(error: Exception) -> bytes:
    """An error as an answer; one that cannot be sent is told in words."""
    with suppress(Exception):
        answer: bytes = cloudpickle.dumps((False, error))
        pickle.loads(answer)
        return answer
    return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
