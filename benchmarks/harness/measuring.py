"""Starts contestants, lets them play in turns, and collects what was found of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .contestant import SECTIONS, Contestant, Section
from .report import Row
from .timing import Measure, Rates, take_turns
from .worker_process import MissingContestant, WorkerProcess


def measure(contestants: Sequence[Contestant], seconds: float, repeats: int) -> list[Row]:
    """A row per contestant: `repeats` measurements of `seconds`, or why there are none. Sections come one after another."""
    rows = []
    for section in SECTIONS:
        rows += _measure_section(section, [one for one in contestants if one.section == section], seconds, repeats)
    return rows


def _measure_section(section: Section, group: list[Contestant], seconds: float, repeats: int) -> list[Row]:
    with ExitStack() as stack:
        workers, missing = _start(group, stack)
        measures: dict[tuple[str, bool], Measure] = {}
        for one in group:
            if worker := workers.get(one.key):
                for observe in (True, False) if one.bare else (True,):
                    measures[one.key, observe] = partial(worker.measure, observe=observe)
        with _progress(section, len(measures) * (repeats + 1)) as tick:
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


@contextmanager
def _progress(section: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar with the time left, on the error stream; nothing when that is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn(section), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(section, total=total)
        yield lambda: bar.advance(task)
