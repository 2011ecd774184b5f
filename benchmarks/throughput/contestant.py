"""`Contestant`: one row of a benchmark, and the ways to start its process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from ludory.benchmarks.harness.machine import usable_cores
from ludory.benchmarks.harness.worker_process import MissingContestant, WorkerProcess, peer_command

from .peer_packages import PACKAGES, pythons

Section = Literal["engine", "gym", "training"]
SECTIONS: tuple[Section, ...] = get_args(Section)
Start = Callable[[], WorkerProcess]
"""Starts a contestant's process; raises `MissingContestant` with the reason where it cannot."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One row of the table."""

    key: str
    name: str
    section: Section
    includes: str
    """What every counted decision includes."""
    start: Start
    own: bool
    """Ludory itself, not a peer."""
    bare: bool = False
    """Also measured without observations."""


class Comparison(NamedTuple):
    """`one` is to be `at_least` times as fast as `other`; None: the ratio is only told."""

    one: str
    other: str
    at_least: float | None = None


def ours(module: str, *arguments: str, cores: int = 1) -> Start:
    """A module of `peers/` under this interpreter, with a thread per core."""
    return lambda: _on_cores(peer_command(sys.executable, module, *arguments), cores)


def theirs(module: str, *arguments: str) -> Start:
    """A module of `peers/` under the first interpreter that has its packages, on one core."""

    def start() -> WorkerProcess:
        reasons = []
        for python in pythons():
            try:
                return _on_cores(peer_command(python, module, *arguments))
            except MissingContestant as error:
                reasons.append(str(error))
        cure = f"pip install {' '.join(PACKAGES)}, or run again with --install-peers"
        raise MissingContestant(f"not installed: {cure} ({reasons[0]})")

    return start


def built(build: Callable[[], str]) -> Start:
    """The program that `build` gives, on one core."""
    return lambda: _on_cores([build()])


def _on_cores(command: Sequence[str], cores: int = 1) -> WorkerProcess:
    """All contestants on one core run on the same one."""
    return WorkerProcess(command, cores, usable_cores()[-cores:])
