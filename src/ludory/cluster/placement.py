"""`PlacedOn`: where a job runs, as a user asks for it; `open` connects to a cluster, or starts one on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ludory.errors import OptionError

from .workers import Workers

LOCAL = "local"
"""Address of a cluster of this machine alone, started for the job and stopped with it."""
AUTO = "auto"
"""Address of the cluster that this machine belongs to."""


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

    @contextmanager
    def open(self) -> Iterator[Workers | None]:
        """The workers of the cluster, which is left, and stopped if it was started here, at the end; None without `ray`.

        Raises:
            PluginError: Ray is not installed.
            LostWorkerError: there is no such cluster.
        """
        if not self.ray:
            yield None
            return
        from .ray_workers import RayWorkers

        workers = RayWorkers(self.address, self.cores)
        try:
            yield workers
        finally:
            workers.close()
