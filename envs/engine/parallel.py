"""Threads that share the rows of a batch."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from ludory.errors import OptionError

T = TypeVar("T")

ROWS_PER_THREAD = 256
"""Smallest part into which a batch is split: a split costs about 30 microseconds."""


def thread_count(threads: int | None = None) -> int:
    """`threads`, else the environment's LUDORY_NUM_THREADS, else the number of cores.

    Raises:
        OptionError: less than 1, or not a number.
    """
    count = _usual_threads() if threads is None else threads
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise OptionError(f"threads={count!r}: must be at least 1")
    return count


def _usual_threads() -> int:
    named = os.environ.get("LUDORY_NUM_THREADS", "")
    if named and not (named.isdecimal() and int(named)):
        raise OptionError(f"LUDORY_NUM_THREADS={named!r}: set it to a number of at least 1, or unset it")
    return int(named or os.cpu_count() or 1)


PART_SECONDS = 1e-4
"""Least work for a thread: waking one up costs about half of this."""
RETRY, LONGEST_RETRY = 64, 8192
"""After so many calls the slower way is tried again: later games may take other times, and other programs end. Each time that it is still
slower, twice as many calls pass before the next one, up to the second number."""


class Pace:
    """Seconds that a row of one kind of work takes in one thread, and in several; says which is to be next.

    The results do not depend on it, so that it can be learnt while it is used.
    """

    def __init__(self) -> None:
        self._alone: float | None = None
        self._split: float | None = None
        self._calls = 0
        self._pause, self._next_retry = RETRY, RETRY
        self._was_split = self._threads_run = False

    @property
    def least_rows(self) -> int:
        """Fewest rows for a thread."""
        return max(1, int(PART_SECONDS / (self._alone or PART_SECONDS)))

    def next_is_split(self, count: int) -> bool:
        """Whether `count` rows are to be split; the first two calls are not, of which the first compiles and tells nothing."""
        self._calls += 1
        if self._calls < 3 or count < 2 * self.least_rows:
            return False
        if self._split is None or self._alone is None:
            return True
        split = self._split < self._alone
        if split is not self._was_split:
            self._was_split, self._pause, self._next_retry = split, RETRY, self._calls + RETRY
        if self._calls < self._next_retry:
            return split
        self._pause = min(2 * self._pause, LONGEST_RETRY)
        self._next_retry = self._calls + self._pause
        return not split

    def note(self, split: bool, seconds: float) -> None:
        """A call took so many `seconds` a row."""
        # the first call compiles, and the first one in several threads may start them
        if self._calls == 1 or (split and not self._threads_run):
            self._threads_run |= split
            return
        known = self._split if split else self._alone
        # what was measured long ago, as that of the way that is not taken, does not count any more
        if known is not None and split is self._was_split:
            seconds = 0.75 * known + 0.25 * seconds
        if split:
            self._split = seconds
        else:
            self._alone = seconds


_within = threading.local()


def part_count(count: int, threads: int | None = None, rows_per_thread: int = ROWS_PER_THREAD) -> int:
    """Number of parts into which `run_parts` splits `count` rows; less than 2: no split."""
    return 1 if getattr(_within, "part", False) else min(thread_count(threads), count // rows_per_thread)


def run_parts(
    function: Callable[..., T],
    count: int,
    *args: Any,
    threads: int | None = None,
    rows_per_thread: int = ROWS_PER_THREAD,
) -> list[T]:
    """Call `function(*args, start, stop)` for parts of `count` rows, each in a thread; results in order.

    `function` releases the GIL (a `nogil` kernel, PyTorch). Small batches, and calls from within a part, run in this thread in one part.
    """
    parts = part_count(count, threads, rows_per_thread)
    if parts < 2:
        return [function(*args, 0, count)]
    edges = [count * part // parts for part in range(parts + 1)]
    jobs = [_pool().submit(_run_part, function, (*args, edges[k], edges[k + 1])) for k in range(1, parts)]
    first = _run_part(function, (*args, edges[0], edges[1]))
    return [first, *(job.result() for job in jobs)]


def _run_part(function: Callable[..., T], args: tuple[Any, ...]) -> T:
    _within.part = True
    try:
        return function(*args)
    finally:
        _within.part = False


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(64, os.cpu_count() or 1), thread_name_prefix="ludory")


def _after_fork() -> None:
    """A forked child has only the thread that forked: it makes its own pool when it needs one.

    PyTorch would wait forever for its parent's threads, so it uses one thread there, as in the workers of its `DataLoader`.
    """
    _pool.cache_clear()
    _within.part = False
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
