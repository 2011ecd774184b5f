"""What `ludory bench throughput` found: the result file, tables and a bar chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import BUSY, Rates, ratio
from ludory.charts.bars import Bar, Panel, bar_chart

from .contestants import Comparison, Contestant, Section

TITLES: dict[Section, str] = {
    "engine": "Engines, Hanabi for two: decisions per second",
    "gym": "One game, Hanabi for two: decisions per second",
    "training": "Training, Hanabi for two: steps per second",
}


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


def report_of(rows: Sequence[Row], comparisons: Sequence[Comparison], seconds: float, repeats: int) -> dict[str, Any]:
    """The content of the result file, raw numbers included. Rates are decisions per second: the median over rounds."""
    measured = [rates for row in rows for rates in (row.full, row.bare) if rates]
    return {
        "versions": {"ludory": version("ludory")},
        "unit": "decisions per second",
        "seconds": seconds,
        "repeats": repeats,
        "disturbed": any(rates.processor < BUSY for rates in measured),
        "contestants": [_row_as_json(row) for row in rows],
        "ratios": list(_ratios({row.contestant.key: row for row in rows}, comparisons)),
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    one = row.contestant
    return {
        "key": one.key,
        "name": one.name,
        "section": one.section,
        "own": one.own,
        "includes": one.includes,
        "versions": row.versions,
        "missing": row.missing,
        "full": _rates_as_json(row.full),
        "unobserved": _rates_as_json(row.bare),
    }


def _rates_as_json(rates: Rates | None) -> dict[str, Any] | None:
    return rates and {"median": rates.median, "rounds": rates.rounds, "processor_share": rates.processor}


def _ratios(rows: Mapping[str, Row], comparisons: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    """Every comparison of contestants that were asked for; ratio None: one of them is missing."""
    for one, other, at_least in comparisons:
        if one in rows and other in rows:
            ours, theirs = rows[one].full, rows[other].full
            found = ratio(ours, theirs) if ours and theirs else None
            met = None if found is None or at_least is None else found >= at_least
            yield {"one": one, "other": other, "ratio": found, "at_least": at_least, "met": met}


def chart(report: Mapping[str, Any]) -> str:
    """The rates with observations as a bar chart, one panel per section."""
    panels = [
        Panel(TITLES[section], [_bar(row) for row in rows]) for section, rows in _by_section(report["contestants"])
    ]
    machine, number = report["machine"]["name"], report["versions"]["ludory"]
    return bar_chart(panels, f"{machine}; Ludory {number}; linear scales, one per panel")


def _bar(row: Mapping[str, Any]) -> Bar:
    return Bar(row["name"], row["full"] and row["full"]["median"], row["own"], row["missing"] or "")


def shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    """Tables of rates and of ratios, and what each counted decision includes."""
    yield f"{report['machine']['name']}; Python {report['machine']['python']}"
    for section, rows in _by_section(report["contestants"]):
        yield _rate_table(TITLES[section], rows)
        yield from (f"{row['name']}: {row['missing']}" for row in rows if row["missing"])
    names = {row["key"]: row["name"] for row in report["contestants"]}
    cells = [_ratio_cells(names, one) for one in report["ratios"]]
    yield table("How many times faster", ("", "than", "ratio", "claim", ""), cells, left=2)
    yield "Each counted decision includes:"
    for row in report["contestants"]:
        if row["full"]:
            versions = ", ".join(f"{name} {number}" for name, number in row["versions"].items())
            yield f"  {row['name']}: {row['includes']}; {versions}"
    if report["disturbed"]:
        yield "The machine had other work to do: run this again when it is idle."


def _by_section(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Section, list[Mapping[str, Any]]]]:
    for section in TITLES:
        if found := [row for row in rows if row["section"] == section]:
            yield section, found


def _rate_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Shown:
    cells = []
    for row in rows:
        full, bare = row["full"], row["unobserved"]
        rates = [full["median"], min(full["rounds"]), max(full["rounds"])] if full else []
        numbers = [f"{rate:,.0f}" for rate in rates] or ["missing", "", ""]
        cells.append([row["name"], *numbers, f"{bare['median']:,.0f}" if bare else ""])
    return table(title, ("", "median", "lowest", "highest", "unobserved"), cells)


def _ratio_cells(names: Mapping[str, str], one: Mapping[str, Any]) -> list[str]:
    found, bound = one["ratio"], one["at_least"]
    number = "missing" if found is None else f"{found:.{1 if found >= 10 else 2}f}"
    verdict = {True: "holds", False: "fails", None: ""}[one["met"]]
    return [names[one["one"]], names[one["other"]], number, f"at least {bound:g}" if bound else "", verdict]
