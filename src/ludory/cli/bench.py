"""`ludory bench`: run a benchmark of the registry."""

from __future__ import annotations

from ludory.plugins import benchmarks

from .common.parser import jobs_shown


def run(argv: list[str]) -> int:
    """Run one benchmark with the arguments that follow its name; returns its exit code.

    Raises:
        OptionError: there is an option before the name.
        UnknownIdError: there is no such benchmark.
    """
    summaries = {id: benchmarks.describe(id).summary for id in benchmarks.ids()}
    if jobs_shown("bench", "Run a benchmark, and show its tables.", summaries, argv, "benchmark"):
        return 0 if argv else 2
    return benchmarks.load(argv[0])(argv[1:])
