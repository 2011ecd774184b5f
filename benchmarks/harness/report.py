"""What a benchmark found, as a value, as JSON and as tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ludory.atomic import atomic_file
from ludory.charts.bars import Bar, Panel, bar_chart

from .contestant import Comparison, Contestant, Section
from .machine import Machine, origin
from .result_file import write_result
from .timing import Rates, ratio

TITLES: dict[Section, str] = {
    "engine": "Engines, Hanabi for two: decisions per second",
    "gym": "One game, Hanabi for two: decisions per second",
    "training": "Training, Hanabi for two: steps per second",
}
BUSY = 0.9
"""A contestant on one core that got less of it than this was disturbed."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one contestant."""

    contestant: Contestant
    versions: dict[str, str]
    full: Rates | None
    bare: Rates | None
    """Without observations; None: not measured."""
    missing: str | None
    """Why there are no numbers."""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run. Numbers are decisions per second: the median over rounds."""

    machine: Machine
    versions: dict[str, str]
    seconds: float
    repeats: int
    rows: Sequence[Row]
    comparisons: Sequence[Comparison]

    @property
    def sections(self) -> list[Section]:
        """The sections that have rows."""
        return [section for section in TITLES if self.of(section)]

    def of(self, section: Section) -> list[Row]:
        """The rows of a section."""
        return [row for row in self.rows if row.contestant.section == section]

    def ratios(self) -> Iterable[tuple[Comparison, Row, Row, float | None]]:
        """Every comparison of rows that are here, with its ratio; None: one of them is missing."""
        rows = {row.contestant.key: row for row in self.rows}
        for comparison in self.comparisons:
            one, other = rows.get(comparison.one), rows.get(comparison.other)
            if one is not None and other is not None:
                yield comparison, one, other, ratio(one.full, other.full) if one.full and other.full else None

    @property
    def disturbed(self) -> bool:
        """True if something else took a good part of the core that contestants ran on."""
        return any(rates.processor < BUSY for row in self.rows for rates in (row.full, row.bare) if rates)


def write_json(report: Report, file: Path) -> None:
    """Write everything that was found, raw numbers included."""
    write_result(file, _as_json(report))


def write_chart(report: Report, file: Path) -> None:
    """Write the rates with observations as a bar chart, one panel per section."""
    panels = [Panel(TITLES[section], [_bar(row) for row in report.of(section)]) for section in report.sections]
    caption = f"{report.machine.name}; Ludory {report.versions['ludory']}; linear scales, one per panel"
    with atomic_file(file, "w") as handle:
        handle.write(bar_chart(panels, caption))


def _bar(row: Row) -> Bar:
    return Bar(row.contestant.name, row.full.median if row.full else None, row.contestant.own, row.missing or "")


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "benchmark": "throughput",
        "versions": report.versions,
        **origin(),
        "machine": asdict(report.machine),
        "unit": "decisions per second",
        "seconds": report.seconds,
        "repeats": report.repeats,
        "disturbed": report.disturbed,
        "contestants": [_row_as_json(row) for row in report.rows],
        "ratios": [
            {
                "one": comparison.one,
                "other": comparison.other,
                "ratio": found,
                "at_least": comparison.at_least,
                "met": None if found is None or comparison.at_least is None else found >= comparison.at_least,
            }
            for comparison, _, _, found in report.ratios()
        ],
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    one = row.contestant
    return {
        "key": one.key,
        "name": one.name,
        "section": one.section,
        "includes": one.includes,
        "versions": row.versions,
        "missing": row.missing,
        "full": _rates_as_json(row.full),
        "unobserved": _rates_as_json(row.bare),
    }


def _rates_as_json(rates: Rates | None) -> dict[str, Any] | None:
    return rates and {"median": rates.median, "rounds": rates.rounds, "processor_share": rates.processor}


def print_report(report: Report, console: Console) -> None:
    """Tables of rates and of ratios, and what the numbers stand for."""
    console.print(f"{report.machine.name}; Python {report.machine.python}", highlight=False)
    for section in report.sections:
        console.print(_rate_table(report, section))
        for row in report.of(section):
            if row.missing:
                console.print(f"{row.contestant.name}: {row.missing}", highlight=False, markup=False)
    console.print(_ratio_table(report))
    console.print("Each counted decision includes:", highlight=False)
    for row in report.rows:
        if row.full is not None:
            versions = ", ".join(f"{name} {number}" for name, number in row.versions.items())
            what = f"{row.contestant.name}: {row.contestant.includes}; {versions}"
            console.print(f"  {what}", highlight=False, markup=False)
    if report.disturbed:
        console.print("The machine had other work to do: run this again when it is idle.", style="bold")


def _rate_table(report: Report, section: Section) -> Table:
    table = Table(title=TITLES[section], title_justify="left")
    rows = report.of(section)
    bare = any(row.contestant.bare for row in rows)
    table.add_column("")
    table.add_column("median", justify="right")
    table.add_column("lowest", justify="right")
    table.add_column("highest", justify="right")
    if bare:
        table.add_column("unobserved", justify="right")
    for row in rows:
        cells = [row.contestant.name]
        if row.full is None:
            cells += ["missing", "", ""]
        else:
            cells += [f"{rate:,.0f}" for rate in (row.full.median, min(row.full.rounds), max(row.full.rounds))]
        if bare:
            cells.append(f"{row.bare.median:,.0f}" if row.bare else "")
        table.add_row(*cells)
    return table


def _ratio_table(report: Report) -> Table:
    table = Table(title="How many times faster", title_justify="left")
    for name in ("", "than"):
        table.add_column(name)
    for name in ("ratio", "claim"):
        table.add_column(name, justify="right")
    table.add_column("")
    for comparison, one, other, found in report.ratios():
        claim = f"at least {comparison.at_least:g}" if comparison.at_least else ""
        verdict = "" if found is None or not claim else "holds" if found >= (comparison.at_least or 0) else "fails"
        shown = "missing" if found is None else f"{found:.{1 if found >= 10 else 2}f}"
        table.add_row(one.contestant.name, other.contestant.name, shown, claim, verdict)
    return table
