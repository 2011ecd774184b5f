"""Points with their intervals as one self-contained SVG document: one panel or several side by side, linear or logarithmic across."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ludory.benchmarks.learning.plot import STYLES

from .drawing import INK, document, text

PANEL, HEIGHT, LEFT, GAP, TOP, BOTTOM = 380, 430, 62, 70, 56, 96


class Point(NamedTuple):
    """A value with the ends of its interval."""

    x: float
    y: float
    low: float
    high: float


class Series(NamedTuple):
    """Points joined by a line."""

    name: str
    points: Sequence[Point]


class Axis(NamedTuple):
    """Range and ticks of an axis."""

    title: str
    lowest: float
    highest: float
    ticks: Sequence[float]
    log: bool = False

    def place(self, value: float, start: float, stop: float) -> float:
        """Where `value` lies between `start` and `stop`; at the edge where it is beyond it."""
        value, lowest, highest = (
            math.log(max(v, 1e-12)) if self.log else v for v in (value, self.lowest, self.highest)
        )
        share = (value - lowest) / (highest - lowest)
        return start + min(max(share, 0.0), 1.0) * (stop - start)


class Plot(NamedTuple):
    """One panel; `line`: a reference line from one point to another."""

    across: Axis
    upwards: Axis
    series: Sequence[Series]
    line: tuple[tuple[float, float], tuple[float, float]] | None = None


def log_axis(title: str, values: Sequence[float]) -> Axis:
    """An axis that holds `values` > 0, ticks at 1 and 3 of every power of ten."""
    lowest, highest = min(values) / 1.2, max(values) * 1.2
    powers = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    ticks = [k * 10.0**power for power in powers for k in (1, 3) if lowest <= k * 10.0**power <= highest]
    return Axis(title, lowest, highest, ticks, log=True)


def linear_axis(title: str, values: Sequence[float]) -> Axis:
    """An axis that holds `values` and 0, about five ticks."""
    lowest, highest = min(0.0, *values), max(0.0, *values)
    highest = highest if highest > lowest else 1.0
    power = 10 ** math.floor(math.log10((highest - lowest) / 5))
    step = next(power * k for k in (1, 2, 5, 10) if (highest - lowest) / (power * k) <= 6)
    first, last = math.floor(lowest / step), math.ceil(highest / step)
    ticks = [round(k * step, 10) for k in range(first, last + 1)]
    return Axis(title, ticks[0], ticks[-1], ticks)


def interval_plot(title: str, plots: Sequence[Plot], caption: Sequence[str]) -> str:
    """SVG document; series of one name have one colour in all panels, and are named once, at the top."""
    names = list(dict.fromkeys(series.name for plot in plots for series in plot.series))
    parts = [text(LEFT, 22, title, "start", "bold"), *_legend(names)]
    for k, plot in enumerate(plots):
        parts += _panel(plot, names, LEFT + k * (PANEL + GAP))
    parts += [text(LEFT, HEIGHT - 32 + 18 * k, words, "start") for k, words in enumerate(caption)]
    return document(LEFT + len(plots) * (PANEL + GAP) - GAP + 20, HEIGHT, parts)


def _legend(names: Sequence[str]) -> Iterator[str]:
    at = LEFT
    for name, (color, dashes) in zip(names, STYLES, strict=False):
        yield f"<path d='M{at} 38 h24' {_stroke(color, dashes)}/>"
        yield text(at + 30, 42.5, name, "start")
        at += 48 + 8 * len(name)


def _panel(plot: Plot, names: Sequence[str], left: float) -> Iterator[str]:
    right, bottom = left + PANEL, HEIGHT - BOTTOM
    for tick in plot.upwards.ticks:
        y = plot.upwards.place(tick, bottom, TOP)
        yield f"<path d='M{left} {y:.1f} H{right}' stroke='#dddddd'/>"
        yield text(left - 8, y + 4.5, f"{tick:g}", "end")
    for tick in plot.across.ticks:
        x = plot.across.place(tick, left, right)
        yield f"<path d='M{x:.1f} {bottom} v5' stroke='{INK}'/>"
        yield text(x, bottom + 20, f"{tick:g}" if tick < 1e5 else f"{tick:.0e}", "middle")
    yield f"<path d='M{left} {bottom} H{right}' stroke='{INK}'/>"
    yield text((left + right) / 2, bottom + 40, plot.across.title, "middle")
    middle = (TOP + bottom) / 2
    yield f"<g transform='rotate(-90 {left - 44} {middle})'>{text(left - 44, middle, plot.upwards.title, 'middle')}</g>"
    if plot.line:
        ends = [(plot.across.place(x, left, right), plot.upwards.place(y, bottom, TOP)) for x, y in plot.line]
        yield f"<path d='M{ends[0][0]:.1f} {ends[0][1]:.1f} L{ends[1][0]:.1f} {ends[1][1]:.1f}' stroke='#888888'/>"
    for series in plot.series:
        yield from _series(plot, series, STYLES[names.index(series.name) % len(STYLES)], (left, right, bottom))


def _series(plot: Plot, series: Series, style: tuple[str, str], frame: tuple[float, float, float]) -> Iterator[str]:
    left, right, bottom = frame
    color, places = style[0], []
    for point in series.points:
        x = plot.across.place(point.x, left, right)
        y, low, high = (plot.upwards.place(v, bottom, TOP) for v in (point.y, point.low, point.high))
        places.append(f"{x:.1f},{y:.1f}")
        yield f"<path d='M{x:.1f} {low:.1f} V{high:.1f}' stroke='{color}' stroke-width='1.4'/>"
        yield f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.2' fill='{color}'/>"
    yield f"<polyline points='{' '.join(places)}' fill='none' {_stroke(*style)}/>"


def _stroke(color: str, dashes: str) -> str:
    return f"stroke='{color}' stroke-width='2'" + (f" stroke-dasharray='{dashes}'" if dashes else "")
