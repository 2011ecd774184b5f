"""`ludory cluster`: what a Ray cluster has, as jobs with --ray see it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from ludory.arguments import Arg

from .common.options import Flag
from .common.parser import parse, run_job
from .common.showing import show_table

JOBS = {"status": ("cluster:status", "machines of a cluster, their cores and memory")}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("cluster", "Ray clusters, on which jobs run with --ray.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class _Status:
    """Machines of a Ray cluster, their cores, and whether they are up.

    Example: ludory cluster status --address 10.0.0.4:6379
    """

    address: Annotated[str, Arg(metavar="ADDRESS")] = "auto"
    """auto: the cluster that this machine belongs to; or HOST:PORT of its head."""
    json: Flag = False
    """Print one JSON object, for programs."""


def status(argv: list[str]) -> int:
    """Show the machines of a cluster; returns the exit code, 1 if no core is left."""
    chosen = parse(_Status, argv, "cluster status")
    from rich.table import Table

    from ludory.cluster.connection import machines

    found, dashboard = machines(chosen.address)
    cores = sum(one.cores for one in found if one.up)
    if chosen.json:
        print(json.dumps({"machines": [one._asdict() for one in found], "cores": cores, "dashboard": dashboard}))
        return int(not cores)
    table = Table("machine", "state", "cores", "memory", title=f"cluster at {chosen.address}: {cores:g} cores")
    for one in found:
        table.add_row(one.host, "up" if one.up else "gone", f"{one.cores:g}", f"{one.memory_gb:.1f} GB")
    show_table(table)
    print(f"dashboard: {dashboard or 'not running; ray start --head --include-dashboard=true starts it'}")
    return int(not cores)
