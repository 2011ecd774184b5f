"""Atomic writes of files and folders; leftovers of killed writers are removed by the next one."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import OutputError
from .paths import as_path

_TEMPORARY = re.compile(r"\..+\.(?:[0-9a-f]{8}\.tmp|claim)")
"""Temporaries, and claims of `ludory.claims`; their writers hold a lock on them as long as they live."""
_swept: set[tuple[int, Path]] = set()
"""(process, folder) already searched for temporaries of killed writers."""


@contextmanager
def atomic_file(file: str | Path, mode: str = "wb", private: bool = False) -> Iterator[IO]:  # type: ignore[type-arg]
    """Open a temporary file beside `file` and move it into place when the block ends without an error.

    Missing folders are created. The first write of a process to a folder removes temporaries of killed writers there.

    Args:
        file: to write.
        mode: "wb" or "w".
        private: only the owner can read the file.

    Raises:
        OptionError: `file` is not a path.
        OutputError: the folder cannot be created or written to, or the file cannot be completed, for example on a full disk.
            An existing file is then unchanged.
    """
    target = as_path(file)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if (os.getpid(), target.parent) not in _swept:
            _swept.add((os.getpid(), target.parent))
            remove_temporaries(target.parent)
        handle = _temporary(target, mode)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise cannot_write(target, error, "name a folder that you may write to") from error
    try:
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
            if private:
                os.chmod(handle.name, 0o600)
            os.replace(handle.name, target)  # before closing, which releases the lock
    except BaseException as error:
        Path(handle.name).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, OutputError) and _is_of(error, handle.name):
            raise cannot_write(
                target, error, "make room, or name another place; what was there before stays"
            ) from error
        raise


@contextmanager
def atomic_folder(folder: str | Path) -> Iterator[Path]:
    """Create a temporary folder beside `folder` and move it into place when the block ends without an error; replaces an existing folder.

    Raises:
        OutputError: the place cannot be written to, or a file has that name. An existing folder is then unchanged.
    """
    target = settled_folder(folder)
    if target.exists() and not target.is_dir():
        raise OutputError(f"cannot write the folder {target}: there is a file of that name; name another place")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_temporaries(target.parent)
        temporary, lock = _temporary_folder(target)
    except (OSError, ValueError) as error:
        raise cannot_write(target, error, "name a folder that you may write to") from error
    try:
        yield temporary
        for file in [*temporary.rglob("*"), temporary]:
            _flush(file)
        _move_folder(temporary, target)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, OutputError | ValueError):
            raise cannot_write(
                target, error, "make room, or name another place; what was there before stays"
            ) from error
        raise
    finally:
        os.close(lock)


def _temporary_folder(target: Path) -> tuple[Path, int]:
    """A new folder `.NAME.01234567.tmp` beside `target`, and a descriptor of it that holds its lock."""
    while True:
        folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        folder.mkdir()
        lock = os.open(folder, os.O_RDONLY)
        with suppress(OSError):  # on a file system without locks nothing is ever removed
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder, lock
        os.close(lock)  # removed before it was locked


def _move_folder(temporary: Path, target: Path) -> None:
    """Rename a folder; an existing target is set aside first, since a rename does not replace a non-empty folder."""
    if not target.exists():
        temporary.rename(target)
        return
    aside = _aside(target)
    shutil.rmtree(aside, ignore_errors=True)
    target.rename(aside)
    try:
        temporary.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def settled_folder(folder: str | Path) -> Path:
    """Return `folder`, after putting the previous one back if a writer was killed between the two renames that replace it."""
    target = as_path(folder)
    if target.name and not target.exists() and _aside(target).is_dir():
        with suppress(OSError):  # another process has done it
            _aside(target).rename(target)
    return target


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.before")


def _flush(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cannot_write(target: Path, error: OSError | ValueError, cure: str) -> OutputError:
    """The error that names `target`, the message of the system, and what to do."""
    said = getattr(error, "strerror", None) or str(error)
    return OutputError(f"cannot write {target}: {said}; {cure}")


def _is_of(error: OSError, temporary: str) -> bool:
    """Whether the temporary file could not be written: errors of writes name no file, those of other calls do.

    An error that is also a ValueError is a misuse of a file.
    """
    return error.filename in (None, temporary) and not isinstance(error, ValueError)


def remove_temporaries(folder: str | Path) -> None:
    """Delete temporary files, folders and claims in `folder` whose owners are dead; living processes hold a lock on theirs."""
    for file in Path(folder).glob(".*"):
        if _TEMPORARY.fullmatch(file.name) and file.is_file():
            with suppress(OSError), file.open("r+b") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink(missing_ok=True)
        elif _TEMPORARY.fullmatch(file.name) and file.is_dir():
            with suppress(OSError):
                _remove_folder(file)


def _remove_folder(folder: Path) -> None:
    """Delete a temporary folder.

    Raises:
        OSError: a living process holds its lock.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)


def _temporary(target: Path, mode: str) -> IO:  # type: ignore[type-arg]
    """A new file `.NAME.01234567.tmp` beside `target`, locked while it is open."""
    while True:
        name = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        handle = name.open(mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8")
        with suppress(OSError):  # on a file system without locks nothing is ever removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle.fileno()).st_nlink:
            return handle
        handle.close()  # removed before it was locked
