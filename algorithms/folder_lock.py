"""`FolderLock`: one folder, one process."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from pathlib import Path

from ludory.errors import OutputError


class FolderLock:
    """Holds `DIR/lock` until `release`, or until the process dies.

    Args:
        folder: that only one process may work in.
        what: it holds, for the error.

    Raises:
        OutputError: another process holds it, naming it and its host; or the folder can not be written to.
    """

    def __init__(self, folder: str | Path, what: str = "league") -> None:
        self.file = Path(folder) / "lock"
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._handle = self.file.open("a+", encoding="utf-8")
        except OSError as error:
            raise OutputError(
                f"can not write {self.file}: {error.strerror}; name a folder that you may write to"
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._handle.seek(0)
            holder = self._handle.read()
            self._handle.close()
            raise OutputError(
                f"{self.file.parent}: {_described(holder)} runs this {what}; wait for it, or stop it"
            ) from error
        self._handle.truncate(0)
        self._handle.write(json.dumps({"pid": os.getpid(), "host": platform.node()}))
        self._handle.flush()

    def release(self) -> None:
        """Let others in."""
        self._handle.close()


def _described(holder: str) -> str:
    try:
        found = json.loads(holder)
        return f"process {found['pid']} on {found['host']}"
    except (json.JSONDecodeError, KeyError, TypeError):
        return "another process"
