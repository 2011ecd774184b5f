"""A clean stop: the first Ctrl+C or SIGTERM requests it, the second one interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl+C, and what Slurm, Docker, Kubernetes and `kill` send."""


class Terminated(KeyboardInterrupt):
    """Raised for SIGTERM; handled wherever Ctrl+C is."""


class _Request:
    """Handles both signals.

    Args:
        stop: called at the first one.
        outer: request of the surrounding block, which is called as well; None: there is none.
    """

    def __init__(self, stop: Callable[[], None], outer: _Request | None = None) -> None:
        self.received: list[int] = []
        self._stop, self._outer = stop, outer

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            raise_interrupt(number, frame)
        self.received.append(number)
        self._stop()
        if self._outer is not None:
            self._outer(number, frame)


def raise_interrupt(number: int, frame: FrameType | None = None) -> NoReturn:
    """A signal handler that ends at once.

    Raises:
        KeyboardInterrupt: as `Terminated` where the signal was SIGTERM.
    """
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def exit_code(received: int | KeyboardInterrupt) -> int:
    """Exit code of a command that a signal ended, as shells count it: 130 for Ctrl+C, 143 for SIGTERM.

    Args:
        received: the signal, or what `raise_interrupt` raised.
    """
    if isinstance(received, KeyboardInterrupt):
        received = signal.SIGTERM if isinstance(received, Terminated) else signal.SIGINT
    return 128 + received


@contextmanager
def stop_on_interrupt(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Call `stop` at the first Ctrl+C or SIGTERM; raise KeyboardInterrupt at the second.

    A nested block stops both. Outside the main thread, where Python handles no signals, this does nothing.

    Yields:
        Signals received: empty until the first one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    outer = signal.getsignal(signal.SIGINT)
    request = _Request(stop, outer if isinstance(outer, _Request) else None)
    with handled_by(request):
        yield request.received


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], Any], *numbers: int) -> Iterator[None]:
    """Install `handler` for the signals `numbers` (default: both) and restore the earlier handlers afterwards. Main thread only."""
    before = {number: signal.signal(number, handler) for number in numbers or SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
