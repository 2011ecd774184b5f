"""A clean stop: the first Ctrl+C asks, the second one insists."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_interrupt(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Call `stop` at the first Ctrl+C; raise KeyboardInterrupt at the second. Gives a list that is empty until then."""
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        stop()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, before)
