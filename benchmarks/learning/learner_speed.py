"""Measure targets of a batch next to RLlib's and TorchRL's V-trace, whole steps of a learner, and the ways to compute an update of PPO, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import BUSY, Measure, Rates, take_turns
from ludory.benchmarks.harness.worker_process import MissingContestant, Sample
from ludory.benchmarks.peers.worker import measure

from . import learner_work as work
from . import ppo_paths

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
    """Returns what to measure, which returns how much it did; raises `MissingContestant` with the reason where it cannot."""
    at_least: float | None = None
    """Calls, or frames, per second that we claim for an idle machine."""


@dataclass(frozen=True, slots=True)
class CandidateRates:
    """Calls, or frames, per second of a candidate, or why there are none."""

    candidate: Candidate
    rates: Rates | None
    missing: str | None

    @property
    def met(self) -> bool | None:
        """Whether the claim holds; None: there is no claim, there are no numbers, or the machine was too busy to refute it."""
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


@dataclass(frozen=True, slots=True)
class LearnerOptions:
    """Options of `ludory bench learner`."""

    seconds: Seconds = 1.0
    """Of one measurement."""
    repeats: Count = 7
    """Rounds; the median counts."""
    networks: tuple[str, ...] = tuple(ppo_paths.NETWORKS)
    """Whose updates by PPO are compared."""
    batches: tuple[Count, ...] = ppo_paths.BATCHES
    """Decisions of their minibatches."""
    out: Path = Path("runs/bench")
    """Folder of the result."""


@benchmark("learner")
def run(options: LearnerOptions) -> Result:
    """Measure every candidate in turns."""
    with one_thread():
        found = _measure(candidates(), options.seconds, options.repeats)
        choices = ppo_paths.measured(options.networks, options.batches, options.seconds, options.repeats)
    report = _as_json(found, options.seconds, options.repeats) | {"choices": choices}
    return Result(options.out / "learner.json", report, _shown)


def _measure(rows: list[Candidate], seconds: float, repeats: int) -> Sequence[CandidateRates]:
    measures: dict[str, Measure] = {}
    missing: dict[str, str] = {}
    for one in rows:
        try:
            measures[one.key] = partial(_sample, one.start())
        except MissingContestant as error:
            missing[one.key] = str(error)
    rates, failed = take_turns(measures, seconds, repeats)
    return [CandidateRates(one, rates.get(one.key), (missing | failed).get(one.key)) for one in rows]


def _sample(play: Callable[[], int], seconds: float) -> Sample:
    return Sample(**measure(lambda _: play(), seconds, True))


def _one_call(get: Callable[[], work.VTrace]) -> Callable[[], int]:
    call = get()

    def play() -> int:
        call()
        return 1

    return play


def _as_json(found: Sequence[CandidateRates], seconds: float, repeats: int) -> dict[str, Any]:
    return {
        "versions": {name: number for name in PACKAGES if (number := _version(name))},
        "unit": {"targets": "calls per second", "learner": "frames per second"},
        "titles": TITLES,
        "threads": 1,
        "seconds": seconds,
        "repeats": repeats,
        "disturbed": any(row.rates.processor < BUSY for row in found if row.rates),
        "rows": [_row_as_json(row) for row in found],
    }


def _row_as_json(row: CandidateRates) -> dict[str, Any]:
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


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    for name, title in TITLES.items():
        rows = [row for row in report["rows"] if row["table"] == name]
        columns = ("", "median", "best", "worst", "processor", "claim", "")
        yield table(title, columns, [[row["name"], *_cells(row)] for row in rows])
        yield from (f"  {row['name']}: {row['missing'] or row['includes']}" for row in rows)
    yield from ppo_paths.shown(report["choices"])
    if report["disturbed"]:
        yield "The machine had other work to do: `processor` counts processor time alone; run this again when it is idle."


def _cells(row: Mapping[str, Any]) -> list[str]:
    bound, milliseconds = row["at_least"], row["table"] == "targets"
    if row["median"] is None:
        return ["missing"]
    numbers = row["median"], max(row["rounds"]), min(row["rounds"]), row["per_processor_second"]
    cells = [f"{1000 / number:.2f}" if milliseconds else f"{number:,.0f}" for number in numbers]
    if bound is None:
        return cells
    claim = f"<= {1000 / bound:g}" if milliseconds else f">= {bound:,.0f}"
    return [*cells, claim, {True: "holds", False: "fails", None: "disturbed"}[row["met"]]]
