"""`ludory bench`: run a benchmark of the registry."""

from __future__ import annotations

import argparse

from ludory.plugins import benchmarks


def run(argv: list[str]) -> int:
    """Run one benchmark with the arguments that follow its name; returns its exit code."""
    summaries = "\n".join(f"  {id:18}  {benchmarks.describe(id).summary}" for id in benchmarks.ids())
    parser = argparse.ArgumentParser(
        "ludory bench",
        description=f"Run a benchmark:\n\n{summaries}",
        epilog="Example: ludory bench throughput --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="e.g. throughput; `ludory list benchmarks` shows all")
    parser.add_argument(
        "arguments", metavar="...", nargs=argparse.REMAINDER, help="its own options; `ludory bench NAME --help`"
    )
    chosen = parser.parse_args(argv)
    return benchmarks.load(chosen.name)(chosen.arguments)
