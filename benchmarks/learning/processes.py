"""Training runs in processes of their own, some at once."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from ludory.benchmarks.harness.terminal import progress
from ludory.benchmarks.harness.worker_process import THREADS
from ludory.errors import TrainingError

from .run import TrainingRun, run_command

POLL = 0.2
"""Seconds between looks at the processes."""


class _Process(NamedTuple):
    run: TrainingRun
    process: subprocess.Popen[bytes]
    said: IO[str]


def train(runs: Sequence[TrainingRun], files: Mapping[str, Path], bc: Path | None, jobs: int) -> Iterator[TrainingRun]:
    """Make the curve of every run, `jobs` at once with one thread each; yields each run when its file is written.

    Args:
        runs: what to train, in this order.
        files: of the curves, by the names of the runs.
        bc: checkpoint of the runs that start from one.
        jobs: processes at once.

    Raises:
        TrainingError: a run failed, with its last line of output; the other runs are killed.
    """
    waiting, running = list(runs), list[_Process]()
    with progress("runs", len(runs)) as tick:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    run = waiting.pop(0)
                    running.append(_start(run, run_command(run, files[run.name], bc)))
                for one in [one for one in running if one.process.poll() is not None]:
                    _check(one)
                    running.remove(one)
                    tick()
                    yield one.run
                time.sleep(POLL)
        finally:
            for one in running:
                one.process.kill()
                _end(one)


def _start(run: TrainingRun, command: Sequence[str]) -> _Process:
    said = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
    alone = os.environ | dict.fromkeys(THREADS, "1")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, env=alone)
    return _Process(run, process, said)


def _end(one: _Process) -> str:
    """Wait for a process and close its files; returns what it said."""
    one.process.communicate()
    if one.said.closed:
        return ""
    with one.said:
        one.said.seek(0)
        return one.said.read()


def _check(one: _Process) -> None:
    lines = _end(one).strip().splitlines()
    if one.process.returncode:
        raise TrainingError(
            f"{one.run.name} ended with exit code {one.process.returncode}: {lines[-1] if lines else 'no message'}; "
            "finished runs are kept, the same command goes on after them"
        )
