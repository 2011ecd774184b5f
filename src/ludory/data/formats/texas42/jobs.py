"""Fill a folder with files, one for each name: what is there and whole stays, gaps are filled, several processes may share the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from ludory.atomic import remove_temporaries
from ludory.claims import claimed
from ludory.errors import DataError
from ludory.written import WrittenFiles

RECENT = 64
"""So many files are looked at after each."""


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
        OutputError: the folder cannot be written to, or a file that was made or found is gone or another one: looked for after every
            file among the last ones, and at the end among all.
    """
    for place in (Path(folder), *sorted(Path(folder).glob("*/"))):
        remove_temporaries(place)
    written = WrittenFiles()
    made = kept = elsewhere = 0
    for name in wanted:
        if stop() or (limit is not None and made >= limit):
            break
        file = Path(folder) / name.path
        if _is_there(file, name, check, replace):
            kept += 1
            written.add(file)
            continue
        with claimed(file) as ours:
            if not ours:
                elsewhere += 1
            elif _is_there(file, name, check, replace):  # another process has just made it
                kept += 1
                written.add(file)
            else:
                make(file, name)
                made += 1
                written.add(file)
                written.check(last=RECENT)
                report(name)
    written.check()
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
