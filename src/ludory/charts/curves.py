"""Charts of curves: with shaded intervals, with an interval at every point, or plain lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .axes import Axis, frame, linear_axis, log_axis
from .drawing import GROUND, STYLES, Dot, Drawing, Mark, Path, Words, as_svg, line

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 800, 460, 58, 228, 46, 104
"""Of a chart of curves with bands."""
_PANEL_WIDTH, _PANEL_HEIGHT, _PANEL_LEFT, _GAP = 380, 430, 62, 70
"""Of a panel with intervals."""
_SMALL_WIDTH, _SMALL_HEIGHT = 440, 270
"""Of a small plot, which is readable on a narrow screen."""
_TIPS = 40
"""Most points of a curve that tell their numbers."""
_LABEL = 17
"""Least distance of labels."""


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


class Plot(NamedTuple):
    """One panel; `line`: a reference line from one point to another."""

    across: Axis
    upwards: Axis
    series: Sequence[Series]
    line: tuple[tuple[float, float], tuple[float, float]] | None = None


def curve_plot(title: str, curves: Sequence[Series], score: str, caption: Sequence[str]) -> str:
    """SVG document of `curve_drawing`."""
    return as_svg(curve_drawing(title, curves, score, caption))


def curve_drawing(title: str, curves: Sequence[Series], score: str, caption: Sequence[str]) -> Drawing:
    """A line with a shaded interval for each curve, named at its end.

    Args:
        title: above the plot.
        curves: at most six, over decisions.
        score: title of the vertical axis, with the unit.
        caption: lines below, at most two.
    """
    points = [point for curve in curves for point in curve.points]
    unit, words = _unit(max(point.x for point in points))
    lowest, highest = min(0.0, *(point.low for point in points)), max(point.high for point in points)
    x = linear_axis(f"decisions{words}", 0, max(point.x for point in points) / unit, 6, widen=False)
    y = linear_axis(score, lowest, max(highest, lowest + 1e-3), widen=False)
    x, y = x.between(_LEFT, _WIDTH - _RIGHT), y.between(_HEIGHT - _BOTTOM, _TOP)
    marks = [Words(_LEFT, 24, title, bold=True), *frame(x, y)]
    for curve, (color, _) in zip(curves, STYLES, strict=False):
        there = [(x(one.x / unit), y(one.high)) for one in curve.points]
        back = [(x(one.x / unit), y(one.low)) for one in reversed(curve.points)]
        marks.append(Path([*there, *back], fill=color, opacity=0.13))
    for curve, (color, dashes) in zip(curves, STYLES, strict=False):
        marks.append(Path([(x(one.x / unit), y(one.y)) for one in curve.points], color, 2.2, dashes))
    ends = [(x(curve.points[-1].x / unit), y(curve.points[-1].y)) for curve in curves]
    marks += [*_labels(ends, [curve.name for curve in curves]), *_caption(caption, _LEFT, _HEIGHT)]
    return Drawing(_WIDTH, _HEIGHT, GROUND, title, marks)


def interval_plot(title: str, plots: Sequence[Plot], caption: Sequence[str]) -> str:
    """SVG document of panels side by side; series of one name have one colour in all panels and are named once, at the top."""
    styles = dict(zip(dict.fromkeys(one.name for plot in plots for one in plot.series), STYLES * 9, strict=False))
    marks: list[Mark] = [Words(_PANEL_LEFT, 22, title, bold=True)]
    at = _PANEL_LEFT
    for name, style in styles.items():
        marks += legend_entry(name, at, 38, style)
        at += 48 + 8 * len(name)
    for k, plot in enumerate(plots):
        left = _PANEL_LEFT + k * (_PANEL_WIDTH + _GAP)
        marks += _panel(plot, styles, left)
    width = _PANEL_LEFT + len(plots) * (_PANEL_WIDTH + _GAP) - _GAP + 20
    marks += _caption(caption, _PANEL_LEFT, _PANEL_HEIGHT)
    return as_svg(Drawing(width, _PANEL_HEIGHT, GROUND, title, marks))


def _panel(plot: Plot, styles: Mapping[str, tuple[str, Sequence[float]]], left: float) -> Iterator[Mark]:
    x, y = plot.across.between(left, left + _PANEL_WIDTH), plot.upwards.between(_PANEL_HEIGHT - 96, 56)
    yield from frame(x, y)
    if plot.line:
        yield Path([(x(a), y(b)) for a, b in plot.line], "#888888")
    for series in plot.series:
        color, dashes = styles[series.name]
        for one in series.points:
            yield line(x(one.x), y(one.low), x(one.x), y(one.high), color, 1.4)
            yield Dot(x(one.x), y(one.y), 3.2, color)
        yield Path([(x(one.x), y(one.y)) for one in series.points], color, 2, dashes)


def line_chart(
    name: str, across: str, upwards: str, lines: Mapping[str, Sequence[tuple[float, float]]], log: bool = False
) -> str:
    """SVG document with up to six lines and their names, from 0 upwards; log: on logarithmic axes."""
    every = [point for points in lines.values() for point in points]
    if log:
        x_axis, y_axis = log_axis(across, [a for a, _ in every]), log_axis(upwards, [b for _, b in every])
    else:
        x_axis = linear_axis(across, min(a for a, _ in every), max(a for a, _ in every))
        y_axis = linear_axis(upwards, 0, max(*(b for _, b in every), 1e-9))
    x, y = x_axis.between(60, 620), y_axis.between(320, 30)
    marks = [*frame(x, y, beside=False)]
    for row, ((title, points), (color, dashes)) in enumerate(zip(lines.items(), STYLES, strict=False)):
        marks.append(Path([(x(a), y(b)) for a, b in points], color, 2, dashes))
        marks += legend_entry(title, 640, 40 + 20 * row, (color, dashes))
    return as_svg(Drawing(900, 370, GROUND, name, marks))


def small_plot(
    title: str,
    curves: Sequence[Series],
    across: str,
    styles: Mapping[str, tuple[str, Sequence[float]]] | None = None,
    behind: Sequence[Series] = (),
    log: tuple[bool, bool] = (False, False),
) -> str:
    """SVG document of a small plot without names of its curves, for pages that list them once for several plots.

    Pointing at a curve shows its name and numbers. Points that a logarithmic axis cannot show are left out.

    Args:
        title: above the plot; the name of what is measured.
        curves: lines, with a shaded interval where their points have one.
        across: title of the horizontal axis.
        styles: colour and dashes of curves by name (default: in their order).
        behind: drawn faintly in the style of the curve of the same name, such as its points before smoothing.
        log: whether the horizontal and the vertical axis are logarithmic.
    """
    curves, behind = [_shown(one, log) for one in curves], [_shown(one, log) for one in behind]
    points = [point for curve in (*curves, *behind) for point in curve.points]
    if not points:
        words = "no numbers above 0" if any(log) else "no numbers yet"
        marks: list[Mark] = [Words(12, 22, title, bold=True), Words(12, 60, words)]
        return as_svg(Drawing(_SMALL_WIDTH, 90, GROUND, title, marks))
    unit, words = (1, "") if log[0] else _unit(max(point.x for point in points))
    places, heights = [one.x / unit for one in points], [end for one in points for end in (one.low, one.high)]
    x = log_axis(across, places) if log[0] else linear_axis(across + words, min(places), max(places), 5, widen=False)
    y = log_axis("", heights) if log[1] else linear_axis("", min(heights), max(heights), 4)
    x, y = x.between(58, _SMALL_WIDTH - 14), y.between(_SMALL_HEIGHT - 52, 40)
    marks = [Words(12, 20, title, bold=True), *frame(x, y)]
    known = styles or dict(zip((one.name for one in curves), STYLES * 9, strict=False))
    for curve in behind:
        color, _ = known[curve.name]
        marks.append(Path([(x(one.x / unit), y(one.y)) for one in curve.points], color + "55", 1.2))
    for curve in curves:
        color, dashes = known[curve.name]
        if any(one.high > one.low for one in curve.points):
            there = [(x(one.x / unit), y(one.high)) for one in curve.points]
            back = [(x(one.x / unit), y(one.low)) for one in reversed(curve.points)]
            marks.append(Path([*there, *back], fill=color, opacity=0.13))
        marks.append(Path([(x(one.x / unit), y(one.y)) for one in curve.points], color, 2, dashes))
        for one in curve.points[:: -(-len(curve.points) // _TIPS) or 1]:
            marks.append(
                Dot(x(one.x / unit), y(one.y), 6, "transparent", tip=f"{curve.name}: {one.y:.4g} at {one.x:,.0f}")
            )
    return as_svg(Drawing(_SMALL_WIDTH, _SMALL_HEIGHT, GROUND, title, marks))


def _shown(series: Series, log: tuple[bool, bool]) -> Series:
    """The points that axes can show; an interval that reaches below 0 is cut where the axis is logarithmic."""
    kept = [one for one in series.points if (one.x > 0 or not log[0]) and (one.y > 0 or not log[1])]
    if log[1]:
        kept = [one._replace(low=one.low if one.low > 0 else one.y) for one in kept]
    return Series(series.name, kept)


def legend_entry(
    name: str, x: float, y: float, style: tuple[str, Sequence[float]], size: float = 13
) -> tuple[Mark, Mark]:
    """A sample of a line and its name."""
    return Path(((x, y), (x + 24, y)), style[0], 2, style[1]), Words(x + 30, y + 4.5, name, size)


def _caption(lines: Sequence[str], left: float, height: float) -> list[Mark]:
    return [Words(left, height - 32 + 18 * k, words) for k, words in enumerate(lines)]


def _labels(ends: Sequence[tuple[float, float]], names: Sequence[str]) -> Iterator[Mark]:
    """Names beside the ends of lines, moved apart where they would touch, each with a sample of its line."""
    heights = apart([height for _, height in ends], _LABEL, _TOP + 4, _HEIGHT - _BOTTOM)
    start = _WIDTH - _RIGHT + 8
    for end, height, name, (color, dashes) in zip(ends, heights, names, STYLES, strict=False):
        points = (end, (start, height), (start + 22, height))
        yield Path(points, color, 1.6, dashes)
        yield Words(start + 27, height + 4.5, name)


def apart(wanted: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Places as close to `wanted` as a distance of at least `gap` allows, in the same order, within [top, bottom] where they fit."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    placed = [max(top, wanted[k]) for k in order]
    # down from the top, then back up from the bottom where they went beyond it
    for k in range(1, len(placed)):
        placed[k] = max(placed[k], placed[k - 1] + gap)
    limit = bottom
    for k in reversed(range(len(placed))):
        placed[k] = min(placed[k], limit)
        limit = placed[k] - gap
    return [placed[order.index(k)] for k in range(len(wanted))]


def _unit(largest: float) -> tuple[int, str]:
    for unit, name in ((1_000_000, " (millions)"), (1_000, " (thousands)")):
        if largest >= 2 * unit:
            return unit, name
    return 1, ""
