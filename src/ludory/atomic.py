"""Files are written whole or not at all; what a killed writer left behind is removed by the next one."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ludory.errors import OutputError

_TEMPORARY = re.compile(r"\..+\.(?:[0-9a-f]{8}\.tmp|claim)")
"""Files that their writer holds a lock on as long as it lives; claims are those of `ludory.claims`."""
_swept: set[tuple[int, Path]] = set()
"""(process, folder) that have been looked through for temporaries of killed writers."""


@contextmanager
def atomic_file(file: str | Path, mode: str = "wb", private: bool = False) -> Iterator[IO]:  # type: ignore[type-arg]
    """Open a temporary file beside `file` and move it into place when the block ends without an error.

    Missing folders are made. The first write of a process to a folder removes temporaries of killed writers from it.

    Args:
        file: to write.
        mode: "wb" or "w".
        private: nobody but the owner may read the file.

    Raises:
        OutputError: the folder cannot be made or written to, or the file cannot be written to its end, as on a full disk;
            what was there before stays.
    """
    target = Path(file)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if (os.getpid(), target.parent) not in _swept:
            _swept.add((os.getpid(), target.parent))
            remove_temporaries(target.parent)
        handle = _temporary(target, mode)
    except (OSError, ValueError) as error:  # a ValueError: a zero byte in the path
        raise cannot_write(target, error, "name a folder that you may write to") from error
    try:
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
            if private:
                os.chmod(handle.name, 0o600)
            os.replace(handle.name, target)  # before it is closed, which ends the lock
    except BaseException as error:
        Path(handle.name).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, OutputError) and _is_of(error, handle.name):
            raise cannot_write(
                target, error, "make room, or name another place; what was there before stays"
            ) from error
        raise


def cannot_write(target: Path, error: OSError | ValueError, cure: str) -> OutputError:
    """The error that names `target`, what the system says of it and what to do."""
    said = getattr(error, "strerror", None) or str(error)
    return OutputError(f"can not write {target}: {said}; {cure}")


def _is_of(error: OSError, temporary: str) -> bool:
    """Whether it was the temporary file that could not be written: a write has no name, other calls name their file.

    An error that is a ValueError as well is a wrong use of a file.
    """
    return error.filename in (None, temporary) and not isinstance(error, ValueError)


def remove_temporaries(folder: str | Path) -> None:
    """Delete temporary files and claims in `folder` whose owners are dead; those of a living process, which holds a lock, stay."""
    for file in Path(folder).glob(".*"):
        if _TEMPORARY.fullmatch(file.name) and file.is_file():
            with suppress(OSError), file.open("r+b") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.unlink(missing_ok=True)


def _temporary(target: Path, mode: str) -> IO:  # type: ignore[type-arg]
    """A new file `.NAME.01234567.tmp` beside `target`, locked as long as it is open."""
    while True:
        name = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        handle = name.open(mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8")
        with suppress(OSError):  # a file system without locks: nothing is removed there
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle.fileno()).st_nlink:
            return handle
        handle.close()  # removed between its birth and its lock
