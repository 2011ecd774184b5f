"""`ludory bench`: run a benchmark of the registry."""

from __future__ import annotations

from collections.abc import Callable

from ludory.errors import PluginError
from ludory.plugins import benchmarks

from .common.guard import CLONE
from .common.parser import jobs_shown


def run(argv: list[str]) -> int:
    """Run one benchmark with the arguments that follow its name; returns its exit code.

    Raises:
        OptionError: there is an option before the name.
        UnknownIdError: there is no such benchmark.
        PluginError: it is one of Ludory's own, and this is no clone.
    """
    known = map(benchmarks.describe, benchmarks.ids())
    summaries = {one.id: one.summary for one in known if one.distribution != "ludory" or not one.problem}
    if not summaries:
        raise PluginError(CLONE)
    if jobs_shown("bench", "Run a benchmark, and show its tables.", summaries, argv, "benchmark"):
        return 0 if argv else 2
    return load(argv[0])(argv[1:])


def load(id: str) -> Callable[[list[str]], int]:
    """The function of a benchmark; raises as `run`."""
    found = benchmarks.describe(id)
    if found.distribution == "ludory" and found.problem:
        raise PluginError(f"benchmark {id!r}: {CLONE}")
    return benchmarks.load(id)
