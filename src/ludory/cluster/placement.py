"""`PlacedOn`: where the parts of a job run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ludory.errors import OptionError

from .connection import AUTO, LOCAL
from .workers import Workers

if TYPE_CHECKING:
    from .process_workers import ProcessWorkers
    from .ray_workers import RayWorkers


@dataclass(frozen=True, slots=True)
class PlacedOn:
    """Where the parts of a job run."""

    ray: bool = False
    """On a Ray cluster instead of this process."""
    address: str = LOCAL
    """Of the cluster: "local" starts one on the cores of this machine, "auto" finds the one that this machine belongs to, HOST:PORT
    names the head of another one."""
    cores: int | None = None
    """Of a cluster that is started here; None: all."""
    jobs: int = 0
    """Processes of this machine, without Ray; 0: none."""

    def __post_init__(self) -> None:
        """Refuse wrong addresses.

        Raises:
            OptionError: the address is none, or is given without `ray`.
        """
        known = self.address in (LOCAL, AUTO) or re.fullmatch(r"[^\s:/]+:\d{1,5}", self.address)
        if not known:
            raise OptionError(f"address {self.address!r}: must be local, auto or HOST:PORT, such as 10.0.0.4:6379")
        if not self.ray and self.address != LOCAL:
            raise OptionError(f"address {self.address!r} without Ray; add --ray, or leave the address out")
        if self.jobs < 0:
            raise OptionError(f"jobs={self.jobs}: must be a number of processes, or 0 for none")
        if self.jobs and self.ray:
            raise OptionError(f"jobs={self.jobs} beside Ray: leave out --jobs, or --ray")

    @contextmanager
    def open(self) -> Iterator[Workers | None]:
        """The workers: those of a cluster, which is left, and stopped if it was started here, at the end, or processes; None: neither.

        Raises:
            PluginError: Ray is not installed.
            LostWorkerError: there is no such cluster.
        """
        if not self.ray and not self.jobs:
            yield None
            return
        workers: RayWorkers | ProcessWorkers
        if self.ray:
            from .ray_workers import RayWorkers

            workers = RayWorkers(self.address, self.cores)
        else:
            from .process_workers import ProcessWorkers

            workers = ProcessWorkers(self.jobs)
        try:
            yield workers
        finally:
            workers.close()
