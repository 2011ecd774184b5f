"""Numbers that change over a run."""

from __future__ import annotations


def linear(start: float, end: float | None, done: float) -> float:
    """From `start` to `end` as `done` goes from 0 to 1; `start` where there is no `end`."""
    return start if end is None else start + (end - start) * done
