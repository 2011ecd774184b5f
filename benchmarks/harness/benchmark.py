"""`benchmark`: makes a command of a function that measures: options in; result file, chart and tables out."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from ludory.algorithms.running.interrupt import exit_code
from ludory.atomic import atomic_file

from .machine import origin
from .options import O, parse_options
from .result_file import write_result
from .terminal import Shown, show

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What a benchmark found.

    Args:
        file: JSON file to write; None: nothing is written.
        report: its content, without the benchmark's name and origin.
        shown: makes tables and lines of the whole report.
        chart: makes an SVG document of the whole report, written beside the file.
        interrupted: number of the signal that ended the work early; 0: none.
        failed: something was wrong that a script must notice: the command ends with exit code 1.
    """

    file: Path | None
    report: Report
    shown: Callable[[Report], Iterable[Shown]]
    chart: Callable[[Report], str] | None = None
    interrupted: int = 0
    failed: bool = False


def benchmark(
    name: str, *, resumes: bool = False
) -> Callable[[Callable[[O], Result | list[Result]]], Callable[[Sequence[str]], int]]:
    """A command `ludory bench NAME` of a function that takes its options, a dataclass, and measures.

    The docstring of the function's module describes the command. Every result gets the benchmark's name and its origin: date,
    commit and machine as they are before the work starts.

    Args:
        name: id of the benchmark.
        resumes: whether the same command goes on with what an interrupted one has left.
    """

    def decorate(measure: Callable[[O], Result | list[Result]]) -> Callable[[Sequence[str]], int]:
        kind = get_type_hints(measure)["options"]
        description = inspect.getdoc(sys.modules[measure.__module__]) or ""

        @wraps(measure)
        def run(argv: Sequence[str]) -> int:
            options = parse_options(kind, name, description, argv)
            started_from = origin()
            try:
                found = measure(options)
            except KeyboardInterrupt as stop:
                if not resumes:
                    raise
                print("interrupted: go on with the same command")
                return exit_code(stop)
            results = found if isinstance(found, list) else [found]
            for result in results:
                _publish(result, {"benchmark": name, **result.report, **started_from})
            codes = [exit_code(result.interrupted) for result in results if result.interrupted]
            return max(codes, default=int(any(result.failed for result in results)))

        return run

    return decorate


def _publish(result: Result, report: Report) -> None:
    """Show the result on the terminal, and write it and its chart: what cannot be written has at least been seen."""
    show(result.shown(report))
    written = []
    if result.file is not None:
        write_result(result.file, dict(report))
        written.append(str(result.file))
        if result.chart is not None:
            picture = result.file.with_suffix(".svg")
            with atomic_file(picture, "w") as handle:
                handle.write(result.chart(report))
            written.append(str(picture))
    if written:
        print(f"result in {' and '.join(written)}")
