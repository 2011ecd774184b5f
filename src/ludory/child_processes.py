"""Processes that belong to this one: they leave Ctrl+C to it, end with it, and do not run its script again."""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from typing import Any


def begin_child() -> None:
    """To be called first in a child: leave Ctrl+C to the parent, which then ends its children, and end with it, also when it was killed.

    It ends without a look through all that was imported, half a second where that is PyTorch.
    """
    atexit.register(gc.freeze)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also drops one that waits
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        # the sentinel becomes ready when the parent is gone, even if it was killed
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


class _Child(SpawnProcess):
    """A process to which Ctrl+C waits until `begin_child` says what it means; it could come while Python starts there."""

    def start(self) -> None:
        """Start it: it has the signals blocked that this thread has."""
        if not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        # it lets signals through when it starts, so it has to run before
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    Process = _Child


CHILDREN = _Context()
"""Makes processes that call `begin_child` first, as `multiprocessing.get_context` makes others."""


def start_child(target: Callable[..., object], *args: Any, name: str | None = None, daemon: bool = True) -> BaseProcess:
    """Start `target(*args)`, a function of a module, in a new process.

    Args:
        target: calls `begin_child` first.
        args: can be pickled; pipes may be among them.
        name: of the process.
        daemon: it has no children of its own.
    """
    process = CHILDREN.Process(target=target, args=args, name=name, daemon=daemon)
    with _no_main_module():
        process.start()
    return process


def process_pool(count: int, begin: Callable[..., object] = begin_child, *args: Any) -> ProcessPoolExecutor:
    """Up to `count` processes; `begin(*args)` is called first in each, and calls `begin_child`."""
    return ProcessPoolExecutor(count, CHILDREN, begin, args)


def kill_pool(pool: ProcessPoolExecutor | None) -> None:
    """End the processes of a pool, also in the middle of a task."""
    if pool is None:
        return
    # private, since executors cannot end a task that runs
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


_STARTING = threading.Lock()


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Keep new processes from running the caller's script again, as multiprocessing would: they need nothing from it."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
