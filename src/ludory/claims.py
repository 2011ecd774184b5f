"""Several processes share one job: each makes the files that it has claimed, and takes over the claims of those that died."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

from .errors import OutputError

T = TypeVar("T")
WAIT = 0.2
"""Seconds between two looks at what other processes are making."""


def share(
    wanted: Iterable[T], file: Callable[[T], Path], is_there: Callable[[T], bool], make: Callable[[T], None]
) -> Iterator[T | None]:
    """Make what is missing, beside other processes that do the same; returns each of `wanted` when its file is there.

    What another process has claimed is left for the end: it comes when it is made, or is made here if that process died. While
    there is nothing else to do, gives None from time to time.

    Args:
        wanted: what names a file.
        file: its place.
        is_there: whether it is there and whole.
        make: writes it, whole or not at all (`ludory.atomic.atomic_file`).

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
                    if not is_there(one):  # another process may have made it just now
                        make(one)
            yield one
        if not elsewhere:
            return
        yield None
        waiting = elsewhere
        time.sleep(max(0.0, WAIT - (time.monotonic() - before)))


@contextmanager
def claimed(file: Path, wait: bool = False) -> Iterator[bool]:
    """Whether nobody else makes `file`; others stand back until the block, or this process, ends.

    wait: until nobody else does.

    Raises:
        OutputError: the folder cannot be written to.
    """
    claim = file.with_name(f".{file.name}.claim")
    try:
        handle = _locked(claim, wait)
    except OSError as error:
        raise OutputError(f"cannot write {claim}: {error.strerror}; name a folder that you may write to") from error
    if handle is None:
        yield False
        return
    with handle:
        try:
            yield True
        finally:
            claim.unlink(missing_ok=True)


def _locked(claim: Path, wait: bool) -> IO[bytes] | None:
    """The claim file, open and locked; None if another process has it."""
    while True:
        claim.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = claim.open("ab")
        except FileNotFoundError:  # the folder has been removed in between
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.fstat(handle.fileno()).st_ino == claim.stat().st_ino:
                return handle
        except BlockingIOError:
            handle.close()
            return None
        except FileNotFoundError:  # its holder has removed it in between
            pass
        handle.close()
