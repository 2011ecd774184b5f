"""SVG parts of the charts of a report, in colours that are apart for every kind of colour vision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from ludory.visible import visible

INK, FAINT = "#1a1a1a", "#d9d9d9"
STYLES = (
    ("#0072b2", ""),
    ("#d55e00", "8 3"),
    ("#009e73", "2 3"),
    ("#aa3377", "9 3 2 3"),
    ("#6b6b6b", "14 4"),
    ("#b58900", "5 2"),
)
"""Colour and dashes of each line."""
FILLS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""Of areas with a label."""
_LOW, _MIDDLE, _HIGH = (213, 94, 0), (247, 247, 247), (0, 114, 178)


class Table(NamedTuple):
    """The same as a chart in words and numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figure(NamedTuple):
    """A chart, what it shows, and its numbers."""

    title: str
    caption: str
    svg: str
    table: Table


class Scale(NamedTuple):
    """From numbers to places, and the numbers that get a tick."""

    low: float
    high: float
    start: float
    stop: float
    ticks: list[float]

    def __call__(self, number: float) -> float:
        """Where `number` lies."""
        return self.start + (number - self.low) / (self.high - self.low) * (self.stop - self.start)


def scale(low: float, high: float, start: float, stop: float, count: int = 5) -> Scale:
    """A scale over [low, high], widened to round numbers, with about `count` ticks."""
    if not high > low:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    power = 10.0 ** math.floor(math.log10((high - low) / count))
    step = next(power * k for k in (1, 2, 5, 10, 20) if (high - low) / (power * k) <= count)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(first * step, last * step, start, stop, [round(k * step, 10) for k in range(first, last + 1)])


def svg(width: float, height: float, name: str, parts: Iterable[str]) -> str:
    """A picture with a name for those who cannot see it; its numbers are in the table below it."""
    box = f"viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}' height='{height:.0f}'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label='{quoted(name)}' {box}>{''.join(parts)}</svg>"
    )


def quoted(words: str) -> str:
    """Safe in attributes and between tags; XML has no control characters."""
    return escape(visible(words, keep="\n"), quote=True)


def text(x: float, y: float, words: str, anchor: str = "start", **attributes: object) -> str:
    """A line of text; attributes as `font_weight="bold"`."""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'{_more(attributes)}>{quoted(words)}</text>"


def rect(x: float, y: float, width: float, height: float, fill: str, tip: str = "", **attributes: object) -> str:
    """A box; `tip` shows when it is pointed at."""
    place = f"x='{x:.1f}' y='{y:.1f}' width='{max(0.0, width):.1f}' height='{max(0.0, height):.1f}'"
    return f"<rect {place} fill='{fill}'{_more(attributes)}>{_tip(tip)}</rect>"


def path(points: str, stroke: str, width: float = 1.0, dashes: str = "", tip: str = "") -> str:
    """A line along SVG path commands."""
    dashed = f" stroke-dasharray='{dashes}'" if dashes else ""
    return f"<path d='{points}' fill='none' stroke='{stroke}' stroke-width='{width}'{dashed}>{_tip(tip)}</path>"


def dot(x: float, y: float, radius: float, fill: str, tip: str = "", **attributes: object) -> str:
    """A filled circle."""
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='{fill}'{_more(attributes)}>{_tip(tip)}</circle>"


def polyline(points: Sequence[tuple[float, float]], stroke: str, dashes: str = "") -> str:
    """A line through places."""
    return path("M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points), stroke, 2.0, dashes) if points else ""


def shade(rate: float) -> str:
    """Orange for 0, near white for 1/2, blue for 1."""
    share, end = abs(rate - 0.5) * 2, _HIGH if rate > 0.5 else _LOW
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in zip(_MIDDLE, end, strict=True))


def on_shade(rate: float) -> str:
    """A colour of text that can be read on `shade(rate)`."""
    return "#ffffff" if rate > 0.85 else INK


def frame(x: Scale, y: Scale, across: str, upwards: str) -> Iterable[str]:
    """Axes with ticks and names; `y.start` is the bottom."""
    for tick in y.ticks:
        yield path(f"M{x.start:.1f} {y(tick):.1f} H{x.stop:.1f}", FAINT)
        yield text(x.start - 6, y(tick) + 4, f"{tick:g}", "end")
    for tick in x.ticks:
        yield path(f"M{x(tick):.1f} {y.start:.1f} v4", INK)
        yield text(x(tick), y.start + 17, f"{tick:g}", "middle")
    yield path(f"M{x.start:.1f} {y.start:.1f} H{x.stop:.1f}", INK)
    yield text((x.start + x.stop) / 2, y.start + 34, across, "middle")
    yield text(x.start - 6, y.stop - 8, upwards, "start", font_weight="bold")


def line_chart(name: str, across: str, upwards: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A picture of up to six lines, from 0 upwards, with their names."""
    every = [point for points in lines.values() for point in points]
    x = scale(min(one for one, _ in every), max(one for one, _ in every), 60, 620)
    y = scale(0, max(*(one for _, one in every), 1e-9), 320, 30)
    parts = [*frame(x, y, across, upwards)]
    for row, ((title, points), (stroke, dashes)) in enumerate(zip(lines.items(), STYLES, strict=False)):
        parts.append(polyline([(x(one), y(other)) for one, other in points], stroke, dashes))
        parts.append(polyline([(640, 40 + 20 * row), (670, 40 + 20 * row)], stroke, dashes))
        parts.append(text(678, 44 + 20 * row, title))
    return svg(900, 370, name, parts)


def _more(attributes: dict[str, object]) -> str:
    return "".join(f" {name.replace('_', '-')}='{quoted(str(value))}'" for name, value in attributes.items())


def _tip(words: str) -> str:
    return f"<title>{quoted(words)}</title>" if words else ""
