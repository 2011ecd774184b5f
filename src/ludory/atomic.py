"""Atomic writes of files and folders; leftovers of killed writers are removed by the next one."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import OutputError
from .locks import CLAIM, LOCKS, OPEN_FILES_MOVE, open_locked, remove_locked
from .paths import as_path

__all__ = [
    "atomic_file",
    "atomic_folder",
    "remove_temporaries",
    "settled_folder",
]

_TEMPORARY = re.compile(r"\..+\.(?:[0-9a-f]{8}\.tmp|claim)")
"""Temporaries, and claims, of these and of `ludory.claims`; writers hold a lock on their claims as long as they live."""
_swept: set[tuple[int, Path]] = set()
"""(process, folder) already searched for temporaries of killed writers."""
_TRIES, _PAUSE = 20, 0.05
"""How often, and with how many seconds between, a file is moved on Windows to a place that somebody reads."""


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
    except (OSError, ValueError) as error:  # here and below, a ValueError: a zero byte in the path
        raise cannot_write(target, error, "name a folder that you may write to") from error
    with _temporary(target) as temporary:
        try:
            encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")  # the same bytes on every system
            handle = temporary.open(mode, encoding=encoding, newline=newline)
        except (OSError, ValueError) as error:
            raise cannot_write(target, error, "name a folder that you may write to") from error
        try:
            with handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
                if private:
                    temporary.chmod(0o600)
            _move(temporary, target)
        except BaseException as error:
            temporary.unlink(missing_ok=True)
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
    except (OSError, ValueError) as error:
        raise cannot_write(target, error, "name a folder that you may write to") from error
    with _temporary(target, is_folder=True) as temporary:
        try:
            temporary.mkdir()
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


@contextmanager
def _temporary(target: Path, is_folder: bool = False) -> Iterator[Path]:
    """A name `.NAME.01234567.tmp` beside `target`; what has it counts as left by a killed writer after this block."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    claim = _claim_of(temporary, is_folder)
    handle = None
    with suppress(
        OSError, ValueError
    ):  # no locks here, so nothing is ever removed; or the temporary will have the same error
        handle = open_locked(claim)
    try:
        yield temporary
    finally:
        with suppress(OSError, ValueError):
            remove_locked(handle, claim) if handle else claim.unlink(missing_ok=True)


def _claim_of(temporary: Path, is_folder: bool) -> Path:
    """The file whose lock says that a writer lives: the temporary, or one beside it, where it is a folder or could not be moved while open."""
    return temporary if OPEN_FILES_MOVE and not is_folder else temporary.with_suffix(CLAIM)


def _move(temporary: Path, target: Path) -> None:
    """Rename a file to `target`, which may exist. Windows refuses this as long as somebody has `target` open, so it is tried for a second there."""
    for _ in range(0 if OPEN_FILES_MOVE else _TRIES):
        with suppress(PermissionError):
            temporary.replace(target)
            return
        time.sleep(_PAUSE)
    temporary.replace(target)


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
    """Force to disk what was written to a file or a folder. Windows does so with files that may be written to only."""
    if OPEN_FILES_MOVE or file.is_file():
        handle = os.open(file, os.O_RDONLY if OPEN_FILES_MOVE else os.O_RDWR)
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
    for file in Path(folder).glob(".*") if LOCKS else ():
        if _TEMPORARY.fullmatch(file.name) and file.exists():
            with suppress(OSError):
                _remove_left(file, _claim_of(file, file.is_dir()))


def _remove_left(file: Path, claim: Path) -> None:
    if (handle := open_locked(claim, wait=False)) is not None:
        try:
            if file.is_dir():
                shutil.rmtree(file)
            elif file != claim:
                file.unlink(missing_ok=True)
        finally:
            remove_locked(handle, claim)
