"""Other libraries on the same card, each in a process of its own."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from statistics import median

from ludory.benchmarks.harness.worker_process import MissingContestant, WorkerProcess, peer_command

from .part import Row


def peer_rate(package: str, figure: str, seconds: float, module: str, *arguments: str) -> Row:
    """Decisions per second, as `figure`, of a module of `peers/` that needs `package`; says what is missing if it cannot run."""
    if find_spec(package) is None:
        return {"missing": f"not installed: pip install {package}"}
    try:
        worker = WorkerProcess(peer_command(sys.executable, module, *arguments), threads=16)
    except MissingContestant as reason:
        return {"missing": str(reason)}
    try:
        rate = median(worker.measure(seconds, observe=True).rate for _ in range(3))
        return {"versions": dict(worker.versions), figure: rate}
    finally:
        worker.close()
