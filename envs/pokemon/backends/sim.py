"""`SimWorker`: a Node child process that holds battles of the pinned simulator, spoken to in lines of JSON over pipes."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from importlib.resources import as_file, files
from itertools import count
from pathlib import Path
from time import monotonic
from typing import IO, Any

from ludory.envs.pokemon.formats import RULES
from ludory.errors import BackendError, BackendTimeout, PluginError
from ludory.plugins import needs_unix

from .install import Installation, needed
from .worker import SECONDS_TO_START, Reply, Worker

SECONDS_TO_CLOSE = 2.0
KEPT_LINES = 40
"""Last lines of a child's standard error that errors show."""
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")


class SimWorker(Worker):
    """One Node child and the battles in it.

    Args:
        installation: where the simulator lies; None: what `ludory pokemon install` made.
        timeout: seconds that the child may take for one message.

    Raises:
        PluginError: Node or the simulator is missing, or it is another version.
        BackendError: the child does not start.
    """

    def __init__(self, installation: Installation | None = None, timeout: float = 60.0) -> None:
        folder, node = installation or needed()
        scripts = as_file(files("ludory.envs.pokemon").joinpath("js"))
        self._start(lambda path: [str(node), str(path / "node.js")], scripts, folder, timeout)

    def _start(
        self,
        command: Callable[[Path], list[str]],
        scripts: AbstractContextManager[Path],
        folder: Path,
        timeout: float,
    ) -> None:
        """Start the child: `command` makes its command line from the folder of its `scripts`; it works in `folder`."""
        if not hasattr(
            os, "killpg"
        ):  # without groups of processes, a system has no pipes that can be waited for either
            raise needs_unix("the Pokémon simulator in a process of its own (backend='sim')")
        gc.collect()  # engines lie in reference cycles; this ends the children of those that nobody can reach any more
        self.timeout = timeout
        self._numbers, self._rest = count(), b""
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._scripts = scripts
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(
            command(scripts.__enter__()),
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl+C at the terminal reaches Python alone
            preexec_fn=death_signal(),
        )
        pipe = self._process.stderr
        assert pipe is not None
        self._reader = threading.Thread(target=keep_lines, args=(pipe, self._said), daemon=True)
        self._reader.start()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            # not blocking, so that `_wait` can keep to the time limit
            os.set_blocking(stream.fileno(), False)
        self._finalizer = weakref.finalize(self, _end_child, self._process, self._scripts, os.getpid())
        try:
            self.hello = self._ask("hello", SECONDS_TO_START)
            if self.hello["rules"] != RULES:
                raise PluginError(f"{folder}: the rules are {self.hello['rules']}, must be {RULES}")
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    @property
    def closed(self) -> bool:
        """Whether the child was ended."""
        return not self._finalizer.alive

    def ask_line(self, line: bytes) -> Reply:
        """Send one line as it is and return the answer, also if it is an error; for tests of the protocol."""
        self._send(line.rstrip(b"\n") + b"\n", "a line", monotonic() + self.timeout)
        answer: Reply = json.loads(self._receive("a line", monotonic() + self.timeout))
        return answer

    def close(self) -> None:
        """End the child; may be called twice."""
        self._finalizer()

    def _exchange(self, message: str, n: int, op: str, seconds: float) -> Reply:
        end = monotonic() + seconds
        self._send(message.encode() + b"\n", op, end)
        answer: Reply = json.loads(self._receive(op, end))
        if answer.get("n") != n:  # an interrupt came between an earlier message and its answer
            while answer.get("n") is not None and answer["n"] < n:
                answer = json.loads(self._receive(op, end))
        return answer

    def _send(self, data: bytes, op: str, end: float) -> None:
        assert self._process.stdin is not None
        place, view = self._process.stdin.fileno(), memoryview(data)
        while view:
            try:
                view = view[os.write(place, view) :]
            except BlockingIOError:
                self._wait(place, selectors.EVENT_WRITE, op, end)
            except OSError:
                self._lost(op)

    def _receive(self, op: str, end: float) -> bytes:
        assert self._process.stdout is not None
        place, parts = self._process.stdout.fileno(), [self._rest]
        while True:
            # answers are lines; what lies behind one is the beginning of the next
            head, newline, rest = parts[-1].partition(b"\n")
            if newline:
                parts[-1], self._rest = head, rest
                return b"".join(parts)
            try:
                if not (data := os.read(place, 1 << 20)):
                    self._lost(op)
                parts.append(data)
            except BlockingIOError:
                self._wait(place, selectors.EVENT_READ, op, end)

    def _wait(self, place: int, event: int, op: str, end: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(place, event)
            if not selector.select(max(0.0, end - monotonic())):
                self.close()
                raise BackendTimeout(f"the simulator did not answer {op!r} in time and was ended{self._last_words()}")

    def _lost(self, op: str) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_CLOSE)
        self._reader.join(SECONDS_TO_CLOSE)  # until its last line is read
        self.close()
        code = self._process.returncode
        raise BackendError(f"the simulator's process died with exit code {code} at {op!r}{self._last_words()}")

    def _last_words(self) -> str:
        return ":\n" + "\n".join(list(self._said)[-20:]) if self._said else ""


def death_signal() -> Callable[[], None] | None:
    """What asks Linux to end the child with this process. The request would also end it with a mere thread, so only the main one asks."""
    if not sys.platform.startswith("linux") or threading.current_thread() is not threading.main_thread():
        return None
    libc = ctypes.CDLL(None)

    def ask() -> None:
        libc.prctl(1, int(signal.SIGKILL))

    return ask


def keep_lines(pipe: IO[bytes], lines: deque[str]) -> None:
    """Keep the last lines of a child's output, so that it never waits for a full pipe."""
    with suppress(ValueError, OSError):  # closed
        for line in pipe:
            lines.append(line.decode(errors="replace").rstrip())


def _end_child(process: subprocess.Popen[bytes], scripts: Any, owner: int) -> None:
    """End a child by closing its input, then by signals. Does nothing in a forked copy of the process that started it."""
    if os.getpid() != owner:
        return
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    for end in (None, process.terminate, process.kill):
        if end is not None:
            end()
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_CLOSE)
            break
    process.stdout.close()
    scripts.__exit__(None, None, None)
