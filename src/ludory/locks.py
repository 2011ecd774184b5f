"""Locks of files: `fcntl.flock` where there is `fcntl`, `msvcrt.locking` on Windows, and none where there is neither.

They end with the process that holds them, however it ends.
"""

from __future__ import annotations

import importlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any


def _module(name: str) -> Any:
    """A module of some systems only; None elsewhere."""
    with suppress(ModuleNotFoundError):
        return importlib.import_module(name)
    return None


_FCNTL, _MSVCRT = _module("fcntl"), _module("msvcrt")
LOCKS = bool(_FCNTL or _MSVCRT)
"""Whether this system has locks. Without them a job cannot see that another one works in its place, or that one has died."""
OPEN_FILES_MOVE = _FCNTL is not None
"""Whether a file that is open can be renamed, replaced and removed. On Windows it cannot."""
CLAIM = ".claim"
"""Ending of files that are locked as long as somebody makes another file."""
_LOCKED_BYTE = 2**31 - 2
"""Windows keeps others from reading what is locked, so it is a byte that no file has."""
_PAUSE = 0.02
"""Seconds between two tries to lock a file on Windows, where nothing wakes those who wait."""


def lock(handle: IO[Any], wait: bool = True) -> bool:
    """Lock an open file until it is unlocked or closed; False if somebody else holds the lock, and `wait` is not set.

    Raises:
        OSError: the file system has no locks.
    """
    if _FCNTL is not None:
        try:
            _FCNTL.flock(handle, _FCNTL.LOCK_EX | (0 if wait else _FCNTL.LOCK_NB))
        except BlockingIOError:
            return False
    elif _MSVCRT is not None:
        while not _windows(handle, _MSVCRT.LK_NBLCK):
            if not wait:
                return False
            time.sleep(_PAUSE)
    return True


def unlock(handle: IO[Any]) -> None:
    """Give up a lock, also where a process that was forked meanwhile has the file open."""
    if _FCNTL is not None:
        _FCNTL.flock(handle, _FCNTL.LOCK_UN)
    elif _MSVCRT is not None:
        _windows(handle, _MSVCRT.LK_UNLCK)


def _windows(handle: IO[Any], mode: int) -> bool:
    """Lock or unlock a byte; False if somebody else has locked it."""
    descriptor = handle.fileno()
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        _MSVCRT.locking(descriptor, mode, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)
    return True


def open_locked(file: Path, wait: bool = True) -> IO[bytes] | None:
    """Open a file to append to it, made if it is missing, and lock it; None if somebody else holds the lock, and `wait` is not set.

    Raises:
        OSError: it cannot be opened, or the file system has no locks.
    """
    while True:
        handle = file.open("ab")
        try:
            if not lock(handle, wait):
                handle.close()
                return None
            with suppress(FileNotFoundError):
                if os.fstat(handle.fileno()).st_ino == file.stat().st_ino:
                    return handle
        except BaseException:
            handle.close()
            raise
        handle.close()  # its holder removed the file in between, so nobody else sees this lock


def remove_locked(handle: IO[bytes], file: Path) -> None:
    """Remove a file that `open_locked` returned, and give up its lock."""
    if OPEN_FILES_MOVE:  # before somebody else can lock it
        file.unlink(missing_ok=True)
    unlock(handle)
    handle.close()
    if not OPEN_FILES_MOVE:
        with suppress(PermissionError):  # somebody else has opened it, and will remove it
            file.unlink(missing_ok=True)
