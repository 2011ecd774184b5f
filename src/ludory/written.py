"""`WrittenFiles`: a run looks at what it wrote, and does not claim success when that is gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from .errors import OutputError

Mark = tuple[int, int, int, int]
"""Bytes, device, inode and time of the last change."""


class WrittenFiles:
    """Files as they were when they were added."""

    def __init__(self) -> None:
        self._marks: dict[Path, Mark | None] = {}

    def add(self, *files: Path) -> None:
        """Note files as they are now; those that are known already, anew."""
        for file in files:
            self._marks.pop(file, None)  # the last ones come last
            self._marks[file] = _mark(file)

    def changed(self, last: int | None = None) -> Iterator[tuple[Path, str]]:
        """Files, of the `last` that were added or of all, that are not as they were, each with what is wrong with it."""
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
        """Stop if a file is not as it was.

        Args:
            last: look at so many files that were added last; None: at all.
            as_good: whether what stands there instead, or elsewhere, is as good.

        Raises:
            OutputError: naming the files, up to 10.
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
    """The error for files that are not as this run left them; `what`: each with what is wrong, 10 of which are named."""
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
