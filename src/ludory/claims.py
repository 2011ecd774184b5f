"""Several processes share one job: each makes the files that it has claimed, and takes over the work of processes that died."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from .errors import OutputError
from .locks import CLAIM, open_locked, remove_locked

__all__ = [
    "claimed",
]

T = TypeVar("T")
WAIT = 0.2
"""Seconds between checks of what other processes are making."""


def share(
    wanted: Iterable[T], file: Callable[[T], Path], is_there: Callable[[T], bool], make: Callable[[T], None]
) -> Iterator[T | None]:
    """Make missing files together with other processes; yields each item of `wanted` when its file exists.

    Items claimed by another process come last: when that process has made them, or made here if it died. Meanwhile None is yielded from
    time to time.

    Args:
        wanted: items that each stand for a file.
        file: returns the path of an item.
        is_there: returns whether the file of an item exists and is intact.
        make: writes the file of an item, atomically (`ludory.atomic.atomic_file`).

    Raises:
        OutputError: the folder cannot be written to.
    """
    waiting = wanted
    while True:
        elsewhere, before = [], time.monotonic()
        for one in waiting:
            if not is_there(one):
                with claimed(file(one)) as ours:
                    if not ours:
                        elsewhere.append(one)
                        continue
                    if not is_there(one):  # another process may just have made it
                        make(one)
            yield one
        if not elsewhere:
            return
        yield None
        waiting = elsewhere
        time.sleep(max(0.0, WAIT - (time.monotonic() - before)))


@contextmanager
def claimed(file: Path, wait: bool = False) -> Iterator[bool]:
    """Claim `file` until the block, or this process, ends; yields False if another process has claimed it.

    wait: wait for the other process instead.

    Raises:
        OutputError: the folder cannot be written to.
    """
    claim = file.with_name(f".{file.name}{CLAIM}")
    try:
        handle = _locked(claim, wait)
    except OSError as error:
        raise OutputError(f"cannot write {claim}: {error.strerror}; name a folder that you may write to") from error
    if handle is None:
        yield False
        return
    try:
        yield True
    finally:
        remove_locked(handle, claim)


def _locked(claim: Path, wait: bool) -> IO[bytes] | None:
    """The claim file, open and locked; None if another process has it."""
    while True:
        claim.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # the folder was removed in between
            return open_locked(claim, wait)
