"""`WrittenFiles`: a run checks the files that it wrote, and does not claim success if they are gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from .errors import OutputError

__all__ = [
    "WrittenFiles",
]

Mark = tuple[int, int, int, int]
"""Size in bytes, device, inode and time of the last change."""


class WrittenFiles:
    """Files as they were when they were added."""

    def __init__(self) -> None:
        self._marks: dict[Path, Mark | None] = {}

    def add(self, *files: Path) -> None:
        """Remember the current state of files; known files are updated."""
        for file in files:
            self._marks.pop(file, None)  # move it to the end
            self._marks[file] = _mark(file)

    def changed(self, last: int | None = None) -> Iterator[tuple[Path, str]]:
        """Yield changed files with what is wrong, among the `last` ones added or among all."""
        for file in [*islice(reversed(self._marks), last)]:
            now, before = _mark(file), self._marks[file]
            if now is None:
                yield file, "is gone"
            elif before is None or (now != before and now[0] == before[0]):
                yield file, "has been replaced"
            elif now != before:
                yield file, f"has {now[0]:,} bytes instead of {before[0]:,}"

    def drop(self, file: Path) -> None:
        """Forget a file."""
        self._marks.pop(file, None)

    def check(self, last: int | None = None, as_good: Callable[[Path], bool] = lambda file: False) -> None:
        """Raise an error if files have changed.

        Args:
            last: check only the files that were added last; None checks all.
            as_good: returns whether a changed file is acceptable.

        Raises:
            OutputError: the message names up to 10 files.
        """
        found = []
        for file, what in self.changed(last):
            if not as_good(file):
                found.append(f"{file} {what}")
            elif file.exists():
                self.add(file)
            else:
                self.drop(file)
        if found:
            raise lost(found)


def lost(what: Sequence[str]) -> OutputError:
    """The error for files that were changed by others; `what`: the files with what is wrong, of which 10 are named."""
    more = f"; and {len(what) - 10} more" if len(what) > 10 else ""
    return OutputError(
        f"{'; '.join(what[:10])}{more}: somebody changed what this run had written or checked; see who else works in this folder, "
        "then give the same command again, which writes what is missing"
    )


def _mark(file: Path) -> Mark | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_size, found.st_dev, found.st_ino, found.st_mtime_ns
