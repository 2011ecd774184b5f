"""`ludory bench`: run a benchmark of the registry."""

from __future__ import annotations

import argparse

from ludory.plugins import benchmarks


def run(argv: list[str]) -> int:
    """Run one benchmark with the arguments that follow its name; returns its exit code."""
    parser = argparse.ArgumentParser(
        "ludory bench", description="Run a benchmark: " + "; ".join(map(_line, benchmarks.ids())) + "."
    )
    parser.add_argument("name", metavar="NAME", help="e.g. throughput; `ludory list benchmarks` shows all")
    parser.add_argument(
        "arguments", metavar="...", nargs=argparse.REMAINDER, help="its own; `ludory bench NAME --help` tells them"
    )
    chosen = parser.parse_args(argv)
    return benchmarks.load(chosen.name)(chosen.arguments)


def _line(id: str) -> str:
    return f"{id} ({benchmarks.describe(id).summary})"
