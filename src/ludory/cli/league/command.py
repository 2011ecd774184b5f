"""`ludory league`: see how far a league is, and report on it; `ludory train league` trains one."""

from __future__ import annotations

from ludory.cli.common import run_job

JOBS = {
    "status": ("league.status:status", "how far a league is, from its event log"),
    "report": ("league.report:report", "pairwise results, ratings, equilibria and curves as JSON, Parquet and HTML"),
    "exploit": ("league.exploit:exploit", "train fresh exploiters against the final main: how exploitable is it?"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("league", "See how far a league is, and report on it; `ludory train league` trains one.", JOBS, argv)
