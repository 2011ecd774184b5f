"""`SweepJournal`: the file in which Optuna keeps the trials of a sweep, with checksums, and readable after any kill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from optuna.storages.journal import BaseJournalBackend

from ludory.json_log import JsonLog, append_lines, line_of, read_log, sum_of
from ludory.locks import lock


class SweepJournal(BaseJournalBackend):
    """A log that several processes share.

    Args:
        file: of the log, which need not exist.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        """Entries from a number on.

        Raises:
            DataError: the log is damaged.
        """
        with self._locked():
            return self._log().entries[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write entries at the end."""
        with self._locked():
            total, lines = self._log().sum, ""
            for entry in logs:
                lines += line_of(total, entry)
                total = sum_of(total, entry)
            append_lines(self._file, lines)

    def _log(self) -> JsonLog:
        return read_log(self._file) if self._file.exists() else JsonLog([], 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for other processes; the end of a process, however it comes, ends its turn."""
        with self._file.with_name(f".{self._file.name}.lock").open("ab") as handle:
            lock(handle)
            yield
