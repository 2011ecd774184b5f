"""`ludory plot`: learning curves of trainings, as SVG, PNG or a page; runs that differ in their seed alone are one curve."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from tyro.conf import arg

from ludory.cli.common.options import File, Paths
from ludory.cli.common.parser import parse
from ludory.errors import DataError, OptionError

if TYPE_CHECKING:
    from ludory.charts.curves import Point, Series

X = "time/total_timesteps"
SEED = re.compile(r"(?:[-_.]s|[-_.]?seed)[-_]?\d+$", re.IGNORECASE)
"""The end of a run's name that tells its seed."""
PART = re.compile(r"-\d+$")
"""The end of the name of a resumed run's table."""
MOST = 6
"""Curves that can be told apart."""
POINTS = 200
"""Of a curve."""
KINDS = (".svg", ".png", ".html")


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Learning curves of trainings.

    Runs whose names differ in their seed alone (ppo-seed1, ppo-seed2) are one curve, with the interval of their mean.

    Example: ludory plot runs/* --out curves.svg
    """

    runs: Annotated[Paths, arg(metavar="RUN...")]
    """Models or tables of `ludory train`, or folders of these."""
    metric: str = "rollout/ep_rew_mean"
    """Column of the tables."""
    title: str = "Learning curves"
    """Above the plot."""
    smooth: int = 1
    """Iterations that a point is the mean of."""
    out: File = Path("curves.svg")
    """File to write: .svg, .png or .html."""


class TrainingCurve(NamedTuple):
    """A training: timesteps and the metric after each iteration."""

    name: str
    points: list[tuple[float, float]]


def run(argv: list[str]) -> int:
    """Draw the curves; returns the exit code."""
    chosen = parse(_Options, argv, "plot")
    if chosen.out.suffix not in KINDS:
        raise OptionError(f"--out {chosen.out}: must end in one of {', '.join(KINDS)}")
    if chosen.smooth < 1:
        raise OptionError(f"--smooth {chosen.smooth}: must be at least 1")
    runs = [read_run(name, tables, chosen.metric) for name, tables in found_tables(chosen.runs).items()]
    curves = [curve(name, group, chosen.smooth) for name, group in by_name(runs).items()]
    if len(curves) > MOST:
        raise OptionError(f"{len(curves)} curves: at most {MOST} can be told apart; name fewer runs")
    _write(chosen, curves, [len(group) for group in by_name(runs).values()])
    for one in curves:
        last = one.points[-1]
        print(
            f"{one.name}: {chosen.metric} {last.y:.3f} ({last.low:.3f} .. {last.high:.3f}) at {last.x:,.0f} timesteps"
        )
    print(f"curves in {chosen.out}")
    return 0


def found_tables(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The tables of each run, in the order of its parts, by the name of the run.

    Raises:
        DataError: a model has no table, or there are none at all.
    """
    runs: dict[str, list[Path]] = {}
    for path in paths:
        tables = sorted(path.glob("*.csv")) if path.is_dir() else [path.with_suffix(".csv")]
        tables = [table for table in tables if table.exists()]
        if path.suffix in (".csv", ".ludory") and not tables:
            raise DataError(f"{path}: no table of metrics beside it; `ludory train` writes one with --log csv")
        for table in tables:
            whole = table.with_name(f"{PART.sub('', table.stem)}.csv")
            name = whole.stem if whole.exists() else table.stem
            found = runs.setdefault(name, [])
            if table not in found:
                found.append(table)
    if not runs:
        raise DataError(
            f"{', '.join(map(str, paths))}: no tables of metrics there; name models or tables, e.g. runs/*.csv"
        )
    return {name: sorted(tables, key=lambda table: (len(table.stem), table.stem)) for name, tables in runs.items()}


def read_run(name: str, tables: Sequence[Path], metric: str) -> TrainingCurve:
    """The points of a run; a part that was resumed begins where it says.

    Raises:
        DataError: a table has no such column, or no numbers in it.
    """
    points: dict[float, float] = {}
    for table in tables:
        with table.open(newline="", encoding="utf-8") as handle:
            reader = csv.DictReader(handle)
            columns = reader.fieldnames or []
            if X not in columns or metric not in columns:
                missing = X if X not in columns else metric
                raise DataError(
                    f"{table}: no column {missing!r}; it has {', '.join(columns) or 'none'}; choose one with --metric"
                )
            points |= {float(row[X]): float(row[metric]) for row in reader if row[metric]}
    if not points:
        raise DataError(f"{name}: no numbers in column {metric!r}")
    return TrainingCurve(name, sorted(points.items()))


def by_name(runs: Sequence[TrainingCurve]) -> dict[str, list[TrainingCurve]]:
    """Runs by their names without the seed."""
    groups: dict[str, list[TrainingCurve]] = {}
    for one in runs:
        groups.setdefault(SEED.sub("", one.name) or one.name, []).append(one)
    return groups


def curve(name: str, runs: Sequence[TrainingCurve], smooth: int) -> Series:
    """The mean over runs at common timesteps, with its 95 % interval (Student's t); of a single run its points alone."""
    from ludory.charts.curves import Point, Series

    smoothed = [_smoothed(one.points, smooth) for one in runs]
    first = max(points[0][0] for points in smoothed)
    last = min(points[-1][0] for points in smoothed)
    if last < first:
        raise DataError(f"{name}: its runs have no timesteps in common; plot them apart")
    places = sorted({x for x, _ in smoothed[0] if first <= x <= last} | {first, last})
    places = places[:: math.ceil(len(places) / POINTS)] + places[-1:]
    return Series(name, [_point(Point, x, [_at(points, x) for points in smoothed]) for x in dict.fromkeys(places)])


def _point(kind: type[Point], x: float, values: Sequence[float]) -> Point:
    mean = sum(values) / len(values)
    if len(values) == 1:
        return kind(x, mean, mean, mean)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    half = T95[min(len(values) - 1, len(T95)) - 1] * error
    return kind(x, mean, mean - half, mean + half)


T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5 % quantiles of Student's t for 1 to 10 degrees of freedom; the last one also for more, which is on the safe side."""


def _smoothed(points: Sequence[tuple[float, float]], count: int) -> list[tuple[float, float]]:
    """Running means over the last `count` points."""
    found = []
    for k, (x, _) in enumerate(points):
        window = [y for _, y in points[max(0, k + 1 - count) : k + 1]]
        found.append((x, sum(window) / len(window)))
    return found


def _at(points: Sequence[tuple[float, float]], x: float) -> float:
    """The value at `x`, by linear interpolation."""
    k = next(k for k, (there, _) in enumerate(points) if there >= x)
    (x1, y1), (x0, y0) = points[k], points[max(0, k - 1)]
    return y1 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def _write(chosen: _Options, curves: Sequence[Series], sizes: Sequence[int]) -> None:
    from ludory.atomic import atomic_file
    from ludory.charts.curves import curve_drawing
    from ludory.charts.drawing import as_image, as_svg

    seeds = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{max(sizes)}"
    band = f"Mean of {seeds} runs with its 95 % interval." if max(sizes) > 1 else "One run each."
    drawing = curve_drawing(chosen.title, curves, chosen.metric, [band])
    if chosen.out.suffix == ".png":
        with atomic_file(chosen.out, "wb") as handle:
            as_image(drawing, 2).save(handle, "PNG")
        return
    svg = as_svg(drawing)
    with atomic_file(chosen.out, "w") as handle:
        handle.write(svg if chosen.out.suffix == ".svg" else _page(chosen.title, svg))


def _page(title: str, svg: str) -> str:
    from ludory.charts.drawing import quoted

    return f'<!doctype html>\n<meta charset="utf-8"><title>{quoted(title)}</title>\n<body style="margin: 2em auto; max-width: 820px">\n{svg}</body>\n'
