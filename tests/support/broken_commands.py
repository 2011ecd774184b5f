"""Commands with the faults that a campaign must notice."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def traceback(arguments: list[str]) -> int:
    raise ValueError("not told in a line")


def crash(arguments: list[str]) -> int:
    os.abort()


def deaf(arguments: list[str]) -> int:
    """Ends at SIGKILL only."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
    return 0


def greedy(arguments: list[str]) -> int:
    """Asks for eight gigabytes."""
    return len(bytearray(8 << 30)) & 1


def writes(arguments: list[str]) -> int:
    """A line for every word, without looking whether it arrived."""
    with Path("lines.txt").open("a") as handle:
        for word in arguments:
            handle.write(f"{word}\n")
    return 0
