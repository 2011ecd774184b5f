"""Learning curves of training runs: the tables that `ludory train` wrote, read, averaged over seeds and smoothed."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.charts.curves import Point, Series
from ludory.errors import DataError

X = "time/total_timesteps"
SEED = re.compile(r"(?:[-_.]s|[-_.]?seed)[-_]?\d+$", re.IGNORECASE)
"""The end of a run's name that tells its seed."""
PART = re.compile(r"-\d+$")
"""The end of the name of a resumed run's table."""
POINTS = 200
"""Of a curve."""


class TrainingCurve(NamedTuple):
    """A training: timesteps and the metric after each iteration."""

    name: str
    points: list[tuple[float, float]]


def found_tables(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The tables of each run, in the order of its parts, by the name of the run; of several paths, those without tables are passed over.

    Raises:
        DataError: there are none at all.
    """
    runs: dict[str, list[Path]] = {}
    for path in paths:
        inside = sorted(path.glob("*.csv")) if path.is_dir() else []
        tables = [table for table in inside or [path.with_suffix(".csv")] if table.exists()]
        for table in tables:
            # NAME-2.csv belongs to NAME only if that has a table
            whole = table.with_name(f"{PART.sub('', table.stem)}.csv")
            name = whole.stem if whole.exists() else table.stem
            found = runs.setdefault(name, [])
            if table not in found:
                found.append(table)
    if not runs and len(paths) == 1 and paths[0].suffix in (".csv", ".ludory"):
        raise DataError(f"{paths[0]}: no table of metrics beside it; `ludory train` writes one with --log csv")
    if not runs:
        raise DataError(
            f"{', '.join(map(str, paths))}: no tables of metrics there; name models or tables, e.g. runs/*.csv"
        )
    # by length first, so that part 10 comes after part 9
    return {name: sorted(tables, key=lambda table: (len(table.stem), table.stem)) for name, tables in runs.items()}


def read_run(name: str, tables: Sequence[Path], metric: str) -> TrainingCurve:
    """The points of a run; a part that was resumed begins where it says.

    Raises:
        DataError: a table has no such column, or no numbers in it.
    """
    points: dict[float, float] = {}
    for file in tables:
        table = read_table(file)
        if X not in table.columns or metric not in table.columns:
            missing = X if X not in table.columns else metric
            raise DataError(
                f"{file}: no column {missing!r}; it has {', '.join(table.columns) or 'none'}; choose one with --metric"
            )
        # a resumed part repeats the timesteps after its checkpoint; its numbers count
        points |= dict(table.points(metric))
    if not points:
        raise DataError(f"{name}: no numbers in column {metric!r}")
    return TrainingCurve(name, sorted(points.items()))


class MetricTable(NamedTuple):
    """The numbers of one table of metrics."""

    values: Mapping[str, NDArray[np.float64]]
    """Of each column, (rows,); NaN where a row has no finite number."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.values)

    @property
    def across(self) -> str:
        """The column that counts how far the training is: timesteps, or the steps that Lightning logs."""
        return next((name for name in (X, "step", "epoch") if name in self.values), "")

    def points(self, metric: str, across: str = "") -> list[tuple[float, float]]:
        """The values of a column over another one (default: `across`), where a row has both."""
        places, heights = self.values.get(across or self.across), self.values.get(metric)
        if places is None or heights is None:
            return []
        both = ~(np.isnan(places) | np.isnan(heights))
        return list(zip(places[both].tolist(), heights[both].tolist(), strict=True))

    def last(self, name: str) -> float | None:
        """The largest number of a column that counts, None where it has none."""
        found = self.values.get(name)
        return None if found is None or np.isnan(found).all() else float(np.nanmax(found))


def read_table(file: str | Path) -> MetricTable:
    """Read a table that may be written at this moment: an incomplete last line is left out.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        text = Path(file).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror})") from error
    try:
        # an unfinished line ends without its newline
        names, *rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1]))) or [[]]
    except csv.Error as error:
        raise DataError(f"{file}: not a table of metrics, or damaged ({error})") from error
    values = np.full((len(names), len(rows)), np.nan)
    for k, row in enumerate(rows):
        for column, cell in enumerate(row[: len(names)]):
            if cell:
                values[column, k] = _number(cell)
    return MetricTable({name: values[column] for column, name in enumerate(names) if name})


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def by_name(runs: Sequence[TrainingCurve]) -> dict[str, list[TrainingCurve]]:
    """Runs by their names without the seed."""
    groups: dict[str, list[TrainingCurve]] = {}
    for one in runs:
        groups.setdefault(SEED.sub("", one.name) or one.name, []).append(one)
    return groups


def curve(name: str, runs: Sequence[TrainingCurve], smooth: int) -> Series:
    """The mean over runs at common timesteps, with its 95 % interval (Student's t); of a single run its points alone."""
    means = [smoothed(one.points, smooth) for one in runs]
    first = max(points[0][0] for points in means)
    last = min(points[-1][0] for points in means)
    if last < first:
        raise DataError(f"{name}: its runs have no timesteps in common; plot them apart")
    # where the first run has points; the ends of what is common too
    places = sorted({x for x, _ in means[0] if first <= x <= last} | {first, last})
    places = places[:: math.ceil(len(places) / POINTS)] + places[-1:]
    return Series(name, [_point(x, [_at(points, x) for points in means]) for x in dict.fromkeys(places)])


def _point(x: float, values: Sequence[float]) -> Point:
    mean = sum(values) / len(values)
    if len(values) == 1:
        return Point(x, mean, mean, mean)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    half = T95[min(len(values) - 1, len(T95)) - 1] * error
    return Point(x, mean, mean - half, mean + half)


T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""97.5 % quantiles of Student's t for 1 to 10 degrees of freedom; the last one also for more, which is on the safe side."""


def smoothed(points: Sequence[tuple[float, float]], count: int) -> list[tuple[float, float]]:
    """Running means over the last `count` points."""
    sums = list(accumulate((y for _, y in points), initial=0.0))
    starts = [max(0, k + 1 - count) for k in range(len(points))]
    return [
        (x, (sums[k + 1] - sums[start]) / (k + 1 - start))
        for k, (start, (x, _)) in enumerate(zip(starts, points, strict=True))
    ]


def curves_json(metric: str, smooth: int, curves: Sequence[Series], runs: Sequence[int]) -> dict[str, Any]:
    """The points of curves as JSON values: (x, y, low, high) each; `runs`: number of runs behind each curve."""
    shown = [
        {"name": one.name, "runs": count, "points": [list(point) for point in one.points]}
        for one, count in zip(curves, runs, strict=True)
    ]
    return {"metric": metric, "smooth": smooth, "curves": shown}


def _at(points: Sequence[tuple[float, float]], x: float) -> float:
    """The value at `x`, by linear interpolation."""
    k = next(k for k, (there, _) in enumerate(points) if there >= x)
    (x1, y1), (x0, y0) = points[k], points[max(0, k - 1)]
    return y1 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
