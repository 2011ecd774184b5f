"""Fill a folder with files, one for each name: intact files stay, missing ones are made, and several processes can share the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import tee
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol, TypeVar

from ludory.atomic import atomic_file, remove_temporaries
from ludory.claims import claimed
from ludory.cluster import Workers
from ludory.errors import DataError
from ludory.written import WrittenFiles

RECENT = 64
"""Number of recent files checked after each new one."""


class FileName(Protocol):
    """Name of a file of a job."""

    @property
    def path(self) -> Path:
        """Its place below the job's folder."""


Name = TypeVar("Name", bound=FileName)


class Filled(NamedTuple):
    """Counts of what `fill` did."""

    made: int
    kept: int
    """Files that existed already."""
    elsewhere: int
    """Files that another process is making."""


def missing(
    folder: str | Path, wanted: Iterable[Name], check: Callable[[Path, Name], None], *, replace: bool = False
) -> Iterator[Name]:
    """Yield the names without a file, in order; with `replace` also those whose files `check` refuses.

    Raises:
        DataError: a file exists but is damaged or not what its name says.
    """
    for name in wanted:
        if not _is_there(Path(folder) / name.path, name, check, replace):
            yield name


def made_by(workers: Workers, names: Iterable[Name], make: Callable[[Path, Name], int]) -> Callable[[Path, Name], int]:
    """A `make` that writes what workers return: they make the files of `names` ahead, and keep none.

    A worker that is lost leaves nothing behind, no file is visible before it is whole, and the machines need no common folder.

    Args:
        workers: who makes the files.
        names: in the order in which they will be asked for; some may be left out.
        make: writes a file and returns the number of its rows; sent to the workers.
    """
    # one copy of the names for the workers, one for what comes back
    asked, sent = tee(names)
    made = zip(asked, workers.map(partial(_made_elsewhere, make), sent), strict=True)

    def write(file: Path, name: Name) -> int:
        # names are asked for in order, but some are made by other processes meanwhile
        found = next((one for other, one in made if other == name), None)
        if found is None:  # passed by already: another process was making it, and has died
            return make(file, name)
        content, rows = found
        with atomic_file(file) as handle:
            handle.write(content)
        return rows

    return write


def _made_elsewhere(make: Callable[[Path, Name], int], name: Name) -> tuple[bytes, int]:
    """The bytes of a file and the number of its rows, from a worker."""
    with TemporaryDirectory(prefix="ludory-texas42-") as folder:
        file = Path(folder) / name.path
        file.parent.mkdir(parents=True)
        rows = make(file, name)
        return file.read_bytes(), rows


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
    """Make the missing files in the order of `wanted`, which may be endless.

    Args:
        folder: of the files; created if it does not exist.
        wanted: names of the files.
        check: raises DataError for a file that exists but is damaged or not what its name says.
        make: writes a file, atomically (`ludory.atomic.atomic_file`).
        limit: largest number of files to make.
        replace: overwrite files that `check` refuses instead of raising its error.
        stop: called before every file; returns whether to stop.
        report: called with the name of every new file.

    Raises:
        DataError: as `check`.
        OutputError: the folder cannot be written to, or a file that was made or found has been removed or replaced. Recent files are
            checked after every new one, and all of them at the end.
    """
    # what an earlier run left half-written
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
        # several processes share the folder: whoever has the claim makes the file
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
            # the message may have its own advice
            hint = "" if "--replace" in str(error) else "; --replace writes such files anew"
            raise DataError(f"{error}{hint}") from error
        return False
    return True
