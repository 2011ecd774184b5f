"""URLs where files and folders may stand: a job works in a folder of this machine, which is copied to the store while it runs.

`StoredPlaces` is asked by `ludory.arguments` wherever a command line has a URL, so that no command knows of stores.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ludory.arguments import UrlUse, number, urls_located_by
from ludory.errors import LudoryError, OptionError, OutputError

from .guard import answer, say

if TYPE_CHECKING:
    from typing_extensions import Self  # slow to import

    from ludory.data.mirror import Mirror

EVERY = 60.0
"""Seconds between two copies to a store."""
PAUSES = (1.0, 4.0, 15.0)
"""Seconds before the last copy is tried again."""


class StoredPlaces:
    """What the URLs of one command stand for; at the end all that was written is sent to its store.

    Args:
        argv: the command line; with `--json` nothing is printed that a program would stumble over.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._stream = "stderr" if "--json" in argv else "stdout"
        self._outputs: dict[tuple[str, bool], _Output] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(urls_located_by(self._locate))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        problems = []
        for output in self._outputs.values():
            try:
                said = output.close(failed=error is not None)
            except LudoryError as problem:
                problems.append(problem)
                continue
            if said:
                print(said, file=getattr(sys, self._stream), flush=True)
        last = problems.pop() if problems and error is None else None
        for one in problems:
            say(str(one))
        if last is not None:
            raise last

    def _locate(self, use: UrlUse) -> str:
        """The path on this machine.

        Raises:
            LudoryError: the URL is wrong, or its store cannot be used.
        """
        from ludory.checkpoints.hub import is_hub
        from ludory.data.storage import is_store

        if use.prog.startswith(("ludory storage", "ludory hub")):
            return use.url
        if is_hub(use.url):
            return _from_hub(use)
        if not (use.writes or is_store(use.url)):
            return use.url
        base = _base(use, "stores" if use.writes else "copies")
        if not use.writes:
            from ludory.data.mirror import copy_to_read

            path = copy_to_read(use.url, base, use.metavar == "DIR")
            say(f"{use.url} is read from its copy in {path}")
            return str(path)
        from ludory.data.mirror import Mirror, last_part

        is_file = use.metavar == "FILE" or (use.metavar != "DIR" and "." in last_part(use.url))
        if (use.url, is_file) not in self._outputs:
            every = _every(use)
            mirror = Mirror(use.url, base, is_file)
            mirror.open()
            self._outputs[use.url, is_file] = _Output(mirror, every)
        return str(self._outputs[use.url, is_file].mirror.path)


def _from_hub(use: UrlUse) -> str:
    """The copy in the hub's cache; an agent's name stays as it was typed, since `make_agent` reads it and tables show it."""
    from ludory.checkpoints.hub import local_path

    if use.writes:
        raise OptionError(
            f"{use.option} {use.url}: name a place of this machine; `ludory hub push` sends it to the hub"
        )
    return use.url if use.metavar.startswith("AGENT") or "(" in use.url else str(local_path(use.url))


def _base(use: UrlUse, part: str) -> Path:
    """The folder of all copies."""
    if work := use.settings.get("--work"):
        return Path(work) / part
    from ludory.cache_folder import cache_directory

    return cache_directory(part)


def _every(use: UrlUse) -> float:
    typed = use.settings.get("--push-every")
    if typed is None:
        return EVERY
    try:
        every = number(typed)
    except ValueError as error:
        raise OptionError(f"--push-every {typed}: {error}") from error
    if not 0 < every < threading.TIMEOUT_MAX:
        raise OptionError(f"--push-every {typed}: must be a number of seconds above 0")
    return every


class _Output:
    """Copies what a job writes, in the background and at its end."""

    def __init__(self, mirror: Mirror, every: float) -> None:
        self.mirror = mirror
        self._every, self._over = every, threading.Event()
        self._sent = 0
        self._thread = threading.Thread(target=self._copy, name=f"copies to {mirror.url}", daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        from ludory.data.mirror import ChangedElsewhereError

        while not self._over.wait(self._every):
            try:
                self._sent += self.mirror.push().sent
            except ChangedElsewhereError as error:  # no later copy can mend it; the end of the job says it again
                say(str(error))
                return
            except Exception as error:  # a store that cannot be reached now may be later
                say(f"{answer(error).text}; the job goes on, and the next copy is tried in {self._every:g} s")

    def close(self, failed: bool) -> str:
        """Make the last copy; returns what to tell, "" if there is nothing.

        Raises:
            LudoryError: it cannot be made; the message says where the files are.
        """
        from ludory.data.mirror import ChangedElsewhereError

        self._over.set()
        self._thread.join()
        for pause in (*PAUSES, None):
            try:
                done = self.mirror.push()
                break
            except ChangedElsewhereError:
                raise
            except OutputError as error:
                if pause is None:
                    folder = self.mirror.folder
                    raise OutputError(
                        f"{error}; what was made is in {folder}: `ludory storage push {folder} {self.mirror.url}`, or the same command "
                        "again, stores it"
                    ) from error
                time.sleep(pause)
        self._sent += done.sent
        if not done.files or (failed and not self._sent):
            return ""
        return f"stored {self.mirror.path} in {self.mirror.url} ({done.files:,} files, {done.bytes / 1e6:,.1f} MB)"
