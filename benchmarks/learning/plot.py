"""Learning curves with their intervals, as one self-contained SVG document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ludory.benchmarks.harness.drawing import INK, document, text

from .curves import Band

WIDTH, HEIGHT = 800, 460
LEFT, RIGHT, TOP, BOTTOM = 58, 228, 46, 104
LINE = 17
STYLES = (
    ("#0072b2", ""),
    ("#d55e00", "8 3"),
    ("#009e73", "2 3"),
    ("#aa3377", "9 3 2 3"),
    ("#6b6b6b", "14 4"),
    ("#b58900", "5 2"),
)
"""Colour and dashes of each line: apart for every kind of colour vision, and in print."""


class Line(NamedTuple):
    """The curve of one contender."""

    name: str
    timesteps: Sequence[int]
    band: Band


class _Scale(NamedTuple):
    """From numbers to places, and the numbers that get a tick."""

    lowest: float
    highest: float
    start: float
    stop: float
    ticks: list[float]

    def __call__(self, number: float) -> float:
        share = (number - self.lowest) / (self.highest - self.lowest)
        return self.start + share * (self.stop - self.start)


def curve_plot(title: str, lines: Sequence[Line], score: str, caption: Sequence[str]) -> str:
    """SVG document: a line with a shaded interval per contender, named at its end.

    Args:
        title: above the plot.
        lines: at most six.
        score: title of the vertical axis, with the unit.
        caption: lines below, at most two.
    """
    unit, name = _unit(max(max(line.timesteps) for line in lines))
    x = _scale(0, max(max(line.timesteps) for line in lines) / unit, LEFT, WIDTH - RIGHT, 6)
    lowest = min(float(line.band.low.min()) for line in lines)
    highest = max(float(line.band.high.max()) for line in lines)
    y = _scale(lowest, max(highest, lowest + 1e-3), HEIGHT - BOTTOM, TOP, 5)
    parts = [text(LEFT, 24, title, "start", "bold"), *_axes(x, y, f"decisions{name}", score)]
    places = [([x(steps / unit) for steps in line.timesteps], line.band) for line in lines]
    for (across, band), (color, _) in zip(places, STYLES, strict=False):
        there = [f"{at:.1f},{y(high):.1f}" for at, high in zip(across, band.high, strict=True)]
        back = [f"{at:.1f},{y(low):.1f}" for at, low in zip(across, band.low, strict=True)][::-1]
        parts.append(f"<polygon points='{' '.join(there + back)}' fill='{color}' fill-opacity='0.13'/>")
    for (across, band), (color, dashes) in zip(places, STYLES, strict=False):
        points = " ".join(f"{at:.1f},{y(score):.1f}" for at, score in zip(across, band.middle, strict=True))
        parts.append(f"<polyline points='{points}' fill='none' {_stroke(color, dashes, 2.2)}/>")
    ends = [(across[-1], y(float(band.middle[-1]))) for across, band in places]
    parts += _labels(ends, lines)
    parts += [text(LEFT, HEIGHT - 32 + 18 * k, words, "start") for k, words in enumerate(caption)]
    return document(WIDTH, HEIGHT, parts)


def _labels(ends: Sequence[tuple[float, float]], lines: Sequence[Line]) -> Iterator[str]:
    """Names beside the line ends, moved apart where they would touch, each led to by a sample of its line."""
    heights = apart([height for _, height in ends], LINE, TOP + 4, HEIGHT - BOTTOM)
    start = WIDTH - RIGHT + 8
    for (at, end), height, line, (color, dashes) in zip(ends, heights, lines, STYLES, strict=False):
        path = f"M{at:.1f} {end:.1f} L{start:.1f} {height:.1f} H{start + 22:.1f}"
        yield f"<path d='{path}' fill='none' {_stroke(color, dashes, 1.6)}/>"
        yield text(start + 27, height + 4.5, line.name, "start")


def apart(wanted: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Places as near to `wanted` as a least distance of `gap` lets them, in the same order, inside [top, bottom] where they fit."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    placed = [max(top, wanted[k]) for k in order]
    for k in range(1, len(placed)):
        placed[k] = max(placed[k], placed[k - 1] + gap)
    limit = bottom
    for k in reversed(range(len(placed))):
        placed[k] = min(placed[k], limit)
        limit = placed[k] - gap
    return [placed[order.index(k)] for k in range(len(wanted))]


def _axes(x: _Scale, y: _Scale, across: str, upwards: str) -> Iterator[str]:
    for tick in y.ticks:
        yield f"<path d='M{x.start} {y(tick):.1f} H{x.stop}' stroke='#dddddd'/>"
        yield text(x.start - 8, y(tick) + 4.5, f"{tick:g}", "end")
    for tick in x.ticks:
        yield f"<path d='M{x(tick):.1f} {y.start} v5' stroke='{INK}'/>"
        yield text(x(tick), y.start + 20, f"{tick:g}", "middle")
    yield f"<path d='M{x.start} {y.start} H{x.stop}' stroke='{INK}'/>"
    yield text((x.start + x.stop) / 2, y.start + 42, across, "middle")
    middle = (y.start + y.stop) / 2
    yield f"<g transform='rotate(-90 18 {middle:.1f})'>{text(18, middle, upwards, 'middle')}</g>"


def _stroke(color: str, dashes: str, width: float) -> str:
    return f"stroke='{color}' stroke-width='{width}'" + (f" stroke-dasharray='{dashes}'" if dashes else "")


def _unit(largest: float) -> tuple[int, str]:
    for unit, name in ((1_000_000, " (millions)"), (1_000, " (thousands)")):
        if largest >= 2 * unit:
            return unit, name
    return 1, ""


def _scale(lowest: float, highest: float, start: float, stop: float, ticks: int) -> _Scale:
    """A scale over [lowest, highest], with about so many round ticks, that reaches down to 0 or to the tick below."""
    span = highest - min(0.0, lowest)
    power = 10 ** math.floor(math.log10(span / ticks))
    step = next(power * k for k in (1, 2, 5, 10) if span / (power * k) <= ticks)
    first = math.floor(min(0.0, lowest) / step)
    last = math.ceil(highest / step - 1e-9)
    top = highest if last * step > highest * 1.02 else last * step
    numbers = [round(k * step, 10) for k in range(first, last + 1) if k * step <= top]
    return _Scale(first * step, top, start, stop, numbers)
