"""`Workers`: who runs the parts of a job. Jobs are written against it, and `InProcess` is the reference for every other one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")

ONE_THREAD = ("LUDORY_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Pending(Protocol):
    """A call of an actor that may still run."""

    def result(self) -> Any:
        """Wait for the call; returns what the method returned.

        Raises:
            LostWorkerError: the actor is gone with its state; make another one.
            Exception: what the method raised.
        """

    def cancel(self) -> None:
        """Drop the call and its result; one that runs may be ended on the way."""


class Lent(Protocol):
    """A value that may be part of what is sent to workers, without being sent with it each time."""

    def get(self) -> Any:
        """The value, also at a worker."""


class Actor(Protocol):
    """An object that lives with a worker. Its calls run one after another, in the order in which they were made."""

    def call(self, method: str, *args: Any) -> Pending:
        """Start `object.method(*args)`; arguments that `Workers.share` returned arrive as the shared values."""

    def close(self) -> None:
        """Drop the object and free its worker."""


class Workers(Protocol):
    """Runs functions and keeps objects, in this process or elsewhere.

    Functions, arguments and results are sent by value, so a function must not rely on changing what it was given. Functions of modules
    are named, not sent: every machine has the same version of Ludory and of the packages that a job needs.
    """

    @property
    def count(self) -> int:
        """Number of parts that run at once; it may change while machines come and go."""

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Results of `function` in the order of `tasks`.

        A task whose worker is lost is started again, so `function` should have no effect but its result.

        Raises:
            LostWorkerError: a task lost its worker again and again.
            Exception: the first that `function` raised.
        """

    def share(self, value: T) -> Any:
        """Store a value once for many calls; pass what is returned in its place."""

    def start(self, function: Callable[[T], Any], task: T) -> Pending:
        """Start `function(task)` alone; a lost worker is told, and it is for the caller to start again."""

    def lend(self, value: object) -> Lent:
        """As `share`, for values of which a task may need a few: it fetches those that it asks for.

        It must be in a task or an argument: inside of a function that is sent, Ray does not know of it, and `get` never returns.
        """

    def actor(self, make: Callable[..., object], *args: Any) -> Actor:
        """The object that `make(*args)` returns, at one of the workers."""

    def first(self, pending: Sequence[Pending]) -> int:
        """Index of a call that is done or lost; waits for one."""


class InProcess(Workers):
    """Everything in this process, one call after another."""

    @property
    def count(self) -> int:
        return 1

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        return map(function, tasks)

    def share(self, value: T) -> T:
        """As `Workers.share`: the value itself."""
        return value

    def start(self, function: Callable[[T], Any], task: T) -> Pending:
        """As `Workers.start`: the function runs at once."""
        return _Done(function, (task,))

    def lend(self, value: object) -> Lent:
        return _Own(value)

    def actor(self, make: Callable[..., object], *args: Any) -> Actor:
        return _OwnActor(make(*args))

    def first(self, pending: Sequence[Pending]) -> int:
        """As `Workers.first`: calls are done when they were made."""
        return 0


class _Own(Lent):
    """A value of this process."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value


class _OwnActor(Actor):
    """An object of this process."""

    def __init__(self, held: object) -> None:
        self._held = held

    def call(self, method: str, *args: Any) -> Pending:
        """As `Actor.call`: the method runs at once."""
        return _Done(getattr(self._held, method), args)

    def close(self) -> None:
        self._held = None


class _Done(Pending, Generic[R]):
    """The outcome of a call, kept until it is asked for."""

    def __init__(self, method: Callable[..., R], args: tuple[Any, ...]) -> None:
        self._value: R | None = None
        self._error: Exception | None = None
        try:
            self._value = method(*args)
        except Exception as error:
            self._error = error

    def result(self) -> R:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set where no error is

    def cancel(self) -> None:
        self._value = self._error = None


def one_thread_each() -> None:
    """In a worker: one thread, since there is one worker a core. Called before the libraries are imported that read it."""
    for name in ONE_THREAD:
        os.environ[name] = "1"
