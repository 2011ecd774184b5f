"""`ludory bench throughput`: Ludory beside its peers, in one run on one machine."""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from ludory.atomic import atomic_file
from ludory.benchmarks.harness.contestant import SECTIONS
from ludory.benchmarks.harness.machine import this_machine
from ludory.benchmarks.harness.measuring import measure
from ludory.benchmarks.harness.peer_packages import install_peers
from ludory.benchmarks.harness.report import Report, print_report, write_chart, write_json
from ludory.benchmarks.harness.worker_process import MissingContestant
from ludory.errors import OptionError, OutputError

from . import environments, training


def run(argv: list[str]) -> int:
    """Measure, print tables, write JSON and a bar chart; returns the exit code.

    Raises:
        OptionError: seconds or repeats that are not allowed, or peers that cannot be installed.
        OutputError: the folder cannot be written to; found out before anything is measured.
    """
    options = _parser().parse_args(argv)
    if not options.seconds > 0 or options.repeats < 1:
        raise OptionError(
            f"--seconds {options.seconds:g} --repeats {options.repeats}: must be greater than 0, and at least 1"
        )
    machine = this_machine()
    data, chart = (_writable(options.out / f"throughput.{ending}") for ending in ("json", "svg"))
    if options.install_peers:
        _install_peers()
    present = [*environments.environments(options.device), *training.learners()]
    chosen = [one for one in present if options.section in ("all", one.section)]
    rows = measure(chosen, options.seconds, options.repeats)
    comparisons = (*environments.COMPARISONS, *training.COMPARISONS)
    report = Report(machine, {"ludory": version("ludory")}, options.seconds, options.repeats, rows, comparisons)
    write_json(report, data)
    write_chart(report, chart)
    print_report(report, Console())
    print(f"results in {data} and {chart}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "ludory bench throughput",
        description="Decisions per second beside OpenSpiel, hanabi-learning-environment, PettingZoo and MaskablePPO, in "
        "turns, one core against one core. Peers that are not there are named, not guessed.",
    )
    parser.add_argument("--section", choices=(*SECTIONS, "all"), default="all", help="what to measure (default all)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: the engine on a GPU too")
    parser.add_argument("--seconds", type=float, default=1.0, help="of one measurement (default 1)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds; the median counts (default 5)")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/bench"), help="folder of the results (default runs/bench)"
    )
    parser.add_argument(
        "--install-peers",
        action="store_true",
        help="install OpenSpiel, PettingZoo and Shimmy first, in an environment of their own in the cache folder",
    )
    return parser


def _install_peers() -> None:
    print("installing peers", file=sys.stderr, flush=True)
    try:
        install_peers()
    except MissingContestant as error:
        raise OptionError(f"--install-peers: {error}; leave it out to measure without them") from error


def _writable(file: Path) -> Path:
    """`file`, after its folder has been made and written to.

    Raises:
        OutputError: it cannot be.
    """
    probe = file.with_name(f".{file.name}.probe")
    with atomic_file(probe):
        pass
    probe.unlink()
    if file.is_dir():
        raise OutputError(f"cannot write {file}: it is a folder; name another one with --out")
    return file
