"""Fill a folder with files, one for each name: what is there and whole stays, gaps are filled, several processes may share the work."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol, TypeVar

from ludory.errors import DataError, OutputError

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?:[a-z0-9_]{8}|claim)")


class FileName(Protocol):
    """What names a file of a job."""

    @property
    def path(self) -> Path:
        """Its place below the job's folder."""


Name = TypeVar("Name", bound=FileName)


class Filled(NamedTuple):
    """What `fill` did."""

    made: int
    kept: int
    """Files that were there."""
    elsewhere: int
    """Files that another process is making."""


def missing(folder: str | Path, wanted: Iterable[Name], check: Callable[[Path, Name], None]) -> Iterator[Name]:
    """The names without a file, in order.

    Raises:
        DataError: a file is there, but it is damaged or not what its name says.
    """
    for name in wanted:
        if not _is_there(Path(folder) / name.path, name, check, replace=False):
            yield name


def fill(
    folder: str | Path,
    wanted: Iterable[Name],
    check: Callable[[Path, Name], None],
    make: Callable[[Path, Name], None],
    *,
    limit: int | None = None,
    replace: bool = False,
    stop: Callable[[], bool] = lambda: False,
    report: Callable[[Name], None] = lambda name: None,
) -> Filled:
    """Make the files that are missing, in the order of `wanted`, which may be endless.

    Args:
        folder: of the files; made if it is missing.
        wanted: names.
        check: raises DataError for a file that is there but damaged or not what its name says.
        make: writes a file, whole or not at all (`ludory.atomic.atomic_file`).
        limit: make no more than so many.
        replace: write files anew that `check` refuses, instead of stopping.
        stop: asked before every file.
        report: told of every file made.

    Raises:
        DataError: as `check`.
        OutputError: the folder can not be written to.
    """
    remove_temporaries(folder)
    made = kept = elsewhere = 0
    for name in wanted:
        if stop() or (limit is not None and made >= limit):
            break
        file = Path(folder) / name.path
        if _is_there(file, name, check, replace):
            kept += 1
            continue
        with claimed(file) as ours:
            if not ours:
                elsewhere += 1
            elif _is_there(file, name, check, replace):  # another process has just made it
                kept += 1
            else:
                make(file, name)
                made += 1
                report(name)
    return Filled(made, kept, elsewhere)


def _is_there(file: Path, name: Name, check: Callable[[Path, Name], None], replace: bool) -> bool:
    if not file.exists():
        return False
    try:
        check(file, name)
    except DataError as error:
        if not replace:
            hint = "" if "--replace" in str(error) else "; --replace writes such files anew"
            raise DataError(f"{error}{hint}") from error
        return False
    return True


@contextmanager
def claimed(file: Path) -> Iterator[bool]:
    """Whether nobody else makes `file`; others stand back until the block, or this process, ends.

    Raises:
        OutputError: the folder can not be written to.
    """
    claim = file.with_name(f".{file.name}.claim")
    try:
        claim.parent.mkdir(parents=True, exist_ok=True)
        handle = _locked(claim)
    except OSError as error:
        raise OutputError(f"can not write {claim}: {error.strerror}; name a folder that you may write to") from error
    if handle is None:
        yield False
        return
    with handle:
        try:
            yield True
        finally:
            claim.unlink(missing_ok=True)


def _locked(claim: Path) -> IO[bytes] | None:
    """The claim file, open and locked; None if another process has it."""
    while True:
        handle = claim.open("ab")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle.fileno()).st_ino == claim.stat().st_ino:
                return handle
        except BlockingIOError:
            handle.close()
            return None
        except FileNotFoundError:  # its holder has removed it in between
            pass
        handle.close()


def remove_temporaries(folder: str | Path) -> None:
    """Delete what killed processes left unfinished; files that a living one is writing stay."""
    for left in sorted(Path(folder).glob("*/.*")) + sorted(Path(folder).glob(".*")):
        found = _TEMPORARY.fullmatch(left.name)
        if found and left.is_file():
            with claimed(left.with_name(found["name"])) as ours:
                if ours:
                    left.unlink(missing_ok=True)
