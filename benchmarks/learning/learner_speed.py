"""`ludory bench learner`: targets of a batch beside RLlib's and TorchRL's V-trace, and whole steps of a learner, on one thread."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.report import BUSY
from ludory.benchmarks.harness.result_file import write_result
from ludory.benchmarks.harness.timing import Measure, Rates, take_turns
from ludory.benchmarks.harness.worker_process import MissingContestant, Sample
from ludory.benchmarks.peers.worker import measure
from ludory.errors import OptionError

from . import learner_work as work

PACKAGES = ("ludory", "torch", "numba", "ray", "torchrl")
TITLES = {
    "targets": f"Targets of {work.ROWS} steps x {work.COLUMNS} columns, float32, one thread: milliseconds",
    "learner": f"Learner, {work.UNROLL} steps x {work.SEQUENCES} columns, {len(work.HEADS)} heads, one thread: frames per second",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of a table."""

    table: str
    key: str
    name: str
    includes: str
    start: Callable[[], Callable[[], int]]
    """Returns what to measure, which gives how much it did; raises `MissingContestant` with the reason where it cannot."""
    at_least: float | None = None
    """Calls, or frames, per second that we claim for an idle machine."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a candidate: calls, or frames, per second; or why nothing."""

    candidate: Candidate
    rates: Rates | None
    missing: str | None

    @property
    def met(self) -> bool | None:
        """Whether the claim holds; None: there is none, or no numbers, or the machine was too busy to say that it fails."""
        bound, rates = self.candidate.at_least, self.rates
        if bound is None or rates is None:
            return None
        return True if rates.median >= bound else False if rates.processor >= BUSY else None


def candidates() -> list[Candidate]:
    """Every row of both tables."""
    data = work.batch()
    ours, theirs = "V-trace, its advantages, TD(lambda), UPGO and its advantages", "V-trace and its advantages"
    rows: list[tuple[str, str, str, Callable[[], work.VTrace], float | None]] = [
        ("kernel", "Ludory, compiled", ours, partial(work.ludory_targets, data, "kernel"), 1000 / 1.5),
        ("scan", "Ludory, PyTorch", ours, partial(work.ludory_targets, data, "scan"), None),
        ("rllib", "RLlib", f"{theirs}, vtrace_torch", partial(work.rllib_vtrace, data), None),
        ("torchrl", "TorchRL", f"{theirs}, vtrace_advantage_estimate", partial(work.torchrl_vtrace, data), None),
    ]
    step = "two hidden layers, forward passes of policy and teacher, loss with V-trace, UPGO, TD(lambda), KL, entropy, backward pass, Adam"
    return [
        *(
            Candidate("targets", key, name, what, partial(_one_call, get), bound)
            for key, name, what, get, bound in rows
        ),
        Candidate("learner", "hidden-128", "hidden 128", step, partial(work.learner_step, 128), 80_000),
        Candidate("learner", "hidden-256", "hidden 256", step, partial(work.learner_step, 256)),
    ]


def run(argv: list[str]) -> int:
    """Measure, print tables, write JSON; returns the exit code.

    Raises:
        OptionError: seconds or repeats that are not allowed.
        OutputError: the file cannot be written.
    """
    options = _parser().parse_args(argv)
    if not options.seconds > 0 or options.repeats < 1:
        raise OptionError(
            f"--seconds {options.seconds:g} --repeats {options.repeats}: must be greater than 0, and at least 1"
        )
    started_from = origin()  # before the work: the commit may move, and the load is to be that of others
    with one_thread():
        found = _measure(candidates(), options.seconds, options.repeats)
    target = options.out / "learner.json"
    write_result(target, _as_json(found, options.seconds, options.repeats) | started_from)
    _print(found, Console())
    print(f"results in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ludory bench learner", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of one measurement (default 1)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds; the median counts (default 7)")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/bench"), help="folder of the result (default runs/bench)"
    )
    return parser


def _measure(rows: list[Candidate], seconds: float, repeats: int) -> list[Found]:
    measures: dict[str, Measure] = {}
    missing: dict[str, str] = {}
    for one in rows:
        try:
            measures[one.key] = partial(_sample, one.start())
        except MissingContestant as error:
            missing[one.key] = str(error)
    rates, failed = take_turns(measures, seconds, repeats)
    return [Found(one, rates.get(one.key), (missing | failed).get(one.key)) for one in rows]


def _sample(play: Callable[[], int], seconds: float) -> Sample:
    return Sample(**measure(lambda _: play(), seconds, True))


def _one_call(get: Callable[[], work.VTrace]) -> Callable[[], int]:
    call = get()

    def play() -> int:
        call()
        return 1

    return play


def _as_json(found: list[Found], seconds: float, repeats: int) -> dict[str, Any]:
    return {
        "benchmark": "learner",
        "versions": {name: number for name in PACKAGES if (number := _version(name))},
        "unit": {"targets": "calls per second", "learner": "frames per second"},
        "titles": TITLES,
        "threads": 1,
        "seconds": seconds,
        "repeats": repeats,
        "disturbed": _disturbed(found),
        "rows": [_row_as_json(row) for row in found],
    }


def _row_as_json(row: Found) -> dict[str, Any]:
    one, rates = row.candidate, row.rates
    return {
        "table": one.table,
        "key": one.key,
        "name": one.name,
        "includes": one.includes,
        "missing": row.missing,
        "median": rates and rates.median,
        "rounds": rates and rates.rounds,
        "per_processor_second": rates and rates.median / rates.processor,
        "at_least": one.at_least,
        "met": row.met,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _disturbed(found: list[Found]) -> bool:
    return any(row.rates.processor < BUSY for row in found if row.rates)


def _print(found: list[Found], console: Console) -> None:
    for name, title in TITLES.items():
        table = Table(title=title, title_justify="left")
        table.add_column("")
        for column in ("median", "best", "worst", "processor", "claim"):
            table.add_column(column, justify="right")
        table.add_column("")
        rows = [row for row in found if row.candidate.table == name]
        for row in rows:
            table.add_row(row.candidate.name, *_cells(row))
        console.print(table)
        for row in rows:
            text = f"  {row.candidate.name}: {row.missing or row.candidate.includes}"
            console.print(text, highlight=False, markup=False, soft_wrap=True)
    if _disturbed(found):
        console.print(
            "The machine had other work to do: `processor` counts processor time alone; run this again when it is idle.",
            style="bold",
        )


def _cells(row: Found) -> list[str]:
    rates, bound = row.rates, row.candidate.at_least
    if rates is None:
        return ["missing"]
    numbers = rates.median, max(rates.rounds), min(rates.rounds), rates.median / rates.processor
    milliseconds = row.candidate.table == "targets"
    cells = [f"{1000 / number:.2f}" if milliseconds else f"{number:,.0f}" for number in numbers]
    if bound is None:
        return cells
    claim = f"<= {1000 / bound:g}" if milliseconds else f">= {bound:,.0f}"
    return [*cells, claim, {True: "holds", False: "fails", None: "disturbed"}[row.met]]
