"""`FolderLock`, `FileLock`: one folder or one file, one process; and which process of a run writes files."""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import IO

from typing_extensions import Self

from ludory.atomic import cannot_write
from ludory.errors import OutputError
from ludory.locks import open_locked, remove_locked, unlock


class _Lock:
    """Holds `file` until `release`, until the end of a `with` block, or until the process dies.

    Args:
        file: of the lock; it names the process that holds it.
        held, what: the locked path, and what runs there, for the error.

    Raises:
        OutputError: another process holds it, naming it and its host; or the folder cannot be written to.
    """

    def __init__(self, file: Path, held: Path, what: str) -> None:
        self.file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._handle = self._taken(held, what)
            self._handle.truncate(0)
            self._handle.write(json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
            self._handle.flush()
        except OutputError:
            raise
        except (OSError, ValueError) as error:  # a ValueError: a zero byte in the path
            raise cannot_write(file, error, "name a folder that you may write to") from error

    def _taken(self, held: Path, what: str) -> IO[bytes]:
        if (handle := open_locked(self.file, wait=False)) is None:
            holder = ""
            with suppress(FileNotFoundError):  # it has just ended
                holder = self.file.read_text(encoding="utf-8", errors="replace")
            raise OutputError(f"{held}: {_described(holder)} runs this {what}; wait for it, or stop it")
        return handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Release the lock; may be called twice."""
        if not self._handle.closed:
            unlock(self._handle)
            self._handle.close()


class FolderLock(_Lock):
    """Holds `DIR/lock`.

    Args:
        folder: folder that only one process may work in.
        what: its content, for the error.
    """

    def __init__(self, folder: str | Path, what: str = "league") -> None:
        super().__init__(Path(folder) / "lock", Path(folder), what)


class FileLock(_Lock):
    """Holds `.NAME.lock` beside a file, which need not exist yet; the lock file is removed afterwards.

    Args:
        file: file that only one process may write.
        what: name of the writer, for the error.
    """

    def __init__(self, file: str | Path, what: str = "training") -> None:
        target = Path(file)
        self._made = [folder for folder in target.parents if not folder.exists()]
        super().__init__(target.with_name(f".{target.name}.lock"), target, what)

    def release(self) -> None:
        """Release the lock and remove folders that were made for it alone; may be called twice."""
        if self._handle.closed:
            return
        remove_locked(self._handle, self.file)
        with suppress(OSError):  # something was written there
            for folder in self._made:
                folder.rmdir()


def _described(holder: str) -> str:
    try:
        found = json.loads(holder)
        return f"process {found['pid']} on {found['host']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another process"


def is_first_process() -> bool:
    """Whether this is the only or the first process of a run, by the environment variables of launchers (torchrun, Lightning)."""
    if "RANK" in os.environ:
        return int(os.environ["RANK"]) == 0
    return all(int(os.environ.get(name, 0)) == 0 for name in ("LOCAL_RANK", "NODE_RANK"))
