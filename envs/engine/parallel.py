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
