"""Decisions per second next to OpenSpiel, hanabi-learning-environment, PettingZoo and MaskablePPO, in turns, each on one core.

Peers that are not installed are named, not guessed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from ludory.atomic import atomic_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import progress
from ludory.benchmarks.harness.timing import Measure, Rates, take_turns
from ludory.benchmarks.harness.worker_process import MissingContestant, WorkerProcess
from ludory.errors import OptionError, OutputError

from . import contestants
from .contestants import SECTIONS, Contestant, Section
from .peer_packages import install_peers
from .report import Row, chart, report_of, shown


@dataclass(frozen=True, slots=True)
class ThroughputOptions:
    """Options of `ludory bench throughput`."""

    section: Literal["engine", "gym", "training", "all"] = "all"
    """What to measure."""
    device: Literal["cpu", "cuda"] = "cpu"
    """cuda: the engine on a GPU too."""
    seconds: Seconds = 1.0
    """Of one measurement."""
    repeats: Count = 5
    """Rounds; the median counts."""
    out: Path = Path("runs/bench")
    """Folder of the results."""
    install_peers: bool = False
    """Install OpenSpiel, PettingZoo and Shimmy first, in an environment of their own in the cache folder."""


@benchmark("throughput")
def run(options: ThroughputOptions) -> Result:
    """Measure what is asked for.

    Raises:
        OptionError: peers cannot be installed.
        OutputError: the folder cannot be written to; found out before anything is measured.
    """
    data = options.out / "throughput.json"
    for file in (data, data.with_suffix(".svg")):
        _check_writable(file)
    if options.install_peers:
        _install_peers()
    present = [*contestants.environments(options.device), *contestants.learners()]
    chosen = [one for one in present if options.section in ("all", one.section)]
    rows = measure(chosen, options.seconds, options.repeats)
    return Result(data, report_of(rows, contestants.COMPARISONS, options.seconds, options.repeats), shown, chart)


def _install_peers() -> None:
    print("installing peers", file=sys.stderr, flush=True)
    try:
        install_peers()
    except MissingContestant as error:
        raise OptionError(f"--install-peers: {error}; leave it out to measure without them") from error


def _check_writable(file: Path) -> None:
    """Make the folder of `file` and write to it.

    Raises:
        OutputError: it cannot be written.
    """
    probe = file.with_name(f".{file.name}.probe")
    with atomic_file(probe):
        pass
    probe.unlink()
    if file.is_dir():
        raise OutputError(f"cannot write {file}: it is a folder; name another one with --out")


def measure(group: Sequence[Contestant], seconds: float, repeats: int) -> list[Row]:
    """A row per contestant: `repeats` measurements of `seconds`, or why there are none. Sections come one after another."""
    rows = []
    for section in SECTIONS:
        rows += _measure_section(section, [one for one in group if one.section == section], seconds, repeats)
    return rows


def _measure_section(section: Section, group: list[Contestant], seconds: float, repeats: int) -> list[Row]:
    with ExitStack() as stack:
        workers, missing = _start(group, stack)
        measures: dict[tuple[str, bool], Measure] = {}
        for one in group:
            if worker := workers.get(one.key):
                for observe in (True, False) if one.bare else (True,):
                    measures[one.key, observe] = partial(worker.measure, observe=observe)
        with progress(section, len(measures) * (repeats + 1)) as tick:
            rates, failed = take_turns(measures, seconds, repeats, tick)
    missing |= {key: reason for (key, _), reason in failed.items()}
    return [_row(one, workers.get(one.key), rates, missing.get(one.key)) for one in group]


def _start(group: list[Contestant], stack: ExitStack) -> tuple[dict[str, WorkerProcess], dict[str, str]]:
    """Processes by key, and the reasons of those that did not start."""
    workers, missing = {}, {}
    for one in group:
        print(f"starting {one.name}", file=sys.stderr, flush=True)
        try:
            worker = one.start()
        except MissingContestant as error:
            missing[one.key] = str(error)
        else:
            stack.callback(worker.close)
            workers[one.key] = worker
    return workers, missing


def _row(
    one: Contestant, worker: WorkerProcess | None, rates: dict[tuple[str, bool], Rates], missing: str | None
) -> Row:
    if worker is None or missing is not None:
        return Row(one, {}, None, None, missing)
    return Row(one, worker.versions, rates[one.key, True], rates.get((one.key, False)), None)
