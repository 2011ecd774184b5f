"""`ludory league`: run a league of players, see how far it is, go on with it, report on it."""

from __future__ import annotations

from ludory.cli.common import run_job

JOBS = {
    "run": ("league.run:run", "train several players from one supervised policy, each against the others"),
    "status": ("league.status:status", "how far a league is, from its event log"),
    "resume": ("league.run:resume", "go on with a league that was stopped or killed"),
    "report": ("league.report:report", "pairwise results, ratings, equilibria and curves as JSON, Parquet and HTML"),
    "exploit": ("league.exploit:exploit", "train fresh exploiters against the final main: how exploitable is it?"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("league", "Train a league of players, and report on it.", JOBS, argv)
