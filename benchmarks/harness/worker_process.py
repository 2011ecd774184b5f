"""`WorkerProcess`: a contestant in a process of its own, tied to its cores, that measures itself when asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

PEERS = Path(__file__).parents[1] / "peers"
THREADS = ("LUDORY_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that limit the threads of a process."""


class MissingContestant(Exception):  # noqa: N818 (no fault: it is reported and the others go on)
    """A contestant cannot be measured here; the message says why."""


class Sample(NamedTuple):
    """One measurement."""

    steps: int
    seconds: float
    cpu_seconds: float
    """Processor time of all threads of the process."""

    @property
    def rate(self) -> float:
        """Decisions per second."""
        return self.steps / self.seconds


def peer_command(python: str | Path, module: str, *arguments: str) -> list[str]:
    """Command line that runs a module of `peers/` under an interpreter."""
    return [str(python), str(PEERS / "worker.py"), module, *arguments]


class WorkerProcess:
    """Starts `command`, which speaks the protocol of `peers/worker.py`.

    Args:
        command: what to run.
        threads: how many threads it may use.
        cores: the cores that it may use; empty: all.

    Raises:
        MissingContestant: it does not start, or says that it cannot play.
    """

    def __init__(self, command: Sequence[str], threads: int = 1, cores: Sequence[int] = ()) -> None:
        if shutil.which(command[0]) is None:
            raise MissingContestant(f"{command[0]}: there is no such program")
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*_tied(cores), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | dict.fromkeys(THREADS, str(threads)),
        )
        hello = self._read()
        if "missing" in hello:
            self.close()
            raise MissingContestant(hello["missing"])
        self.versions: dict[str, str] = hello["versions"]

    def measure(self, seconds: float, observe: bool) -> Sample:
        """Let it play for `seconds`.

        Raises:
            MissingContestant: it died.
        """
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # `_read` raises with its last message
            self._process.stdin.write(f"{seconds} {int(observe)}\n")
            self._process.stdin.flush()
        answer = self._read()
        return Sample(answer["steps"], answer["seconds"], answer["cpu_seconds"])

    def close(self) -> None:
        """End the process, if it has not ended."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().strip().splitlines()
        self.close()
        raise MissingContestant(f"ended with exit code {code}: {said[-1] if said else 'no message'}")


def _tied(cores: Sequence[int]) -> list[str]:
    """Prefix that ties a command to `cores` before it starts any thread."""
    if not cores:
        return []
    code = "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); os.execvp(sys.argv[2], sys.argv[2:])"
    return [sys.executable, "-c", code, ",".join(map(str, cores))]
