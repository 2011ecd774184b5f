"""A bar chart, and a heat map of win rates or scores, each as one self-contained SVG document, readable in monochrome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .drawing import FAINT, GROUND, INK, STYLES, Drawing, Mark, Rectangle, Words, as_svg, on_shade, shade

WIDTH, LABELS, NUMBERS, ROW, TITLE, MARGIN = 900, 300, 110, 26, 40, 16
OWN, PEER = STYLES[0][0], "#c8c8c8"


class Bar(NamedTuple):
    """One bar; value None: there is no number, and `note` says why."""

    label: str
    value: float | None
    own: bool
    note: str = ""


class Panel(NamedTuple):
    """Bars that share a scale."""

    title: str
    bars: Sequence[Bar]


def bar_chart(panels: Sequence[Panel], caption: str) -> str:
    """SVG document with one panel below the other; the longest bar of each panel has its largest value."""
    marks: list[Mark] = []
    y = MARGIN
    for panel in panels:
        marks.append(Words(MARGIN, y + 18, panel.title, bold=True))
        y += TITLE
        longest = max((bar.value for bar in panel.bars if bar.value is not None), default=1.0) or 1.0
        for bar in panel.bars:
            marks += _bar(bar, y, longest)
            y += ROW
        y += MARGIN
    marks.append(Words(MARGIN, y + 12, caption))
    return as_svg(Drawing(WIDTH, y + 12 + MARGIN, GROUND, "; ".join(panel.title for panel in panels), marks))


def _bar(bar: Bar, y: int, longest: float) -> list[Mark]:
    label = Words(LABELS - 8, y + 15, bar.label, anchor="end")
    if bar.value is None:
        return [label, Words(LABELS, y + 15, f"missing: {bar.note}"[:80])]
    length = max(1.0, (WIDTH - LABELS - NUMBERS - MARGIN) * bar.value / longest)
    box = Rectangle(LABELS, y + 2, length, ROW - 7, OWN if bar.own else PEER, INK)
    return [label, box, Words(LABELS + length + 6, y + 15, f"{bar.value:,.0f}")]


LABEL, TOP = 190, 130
"""Pixels left of the cells and above them, for names."""


class Cell(NamedTuple):
    """A win rate, or another number, in [0, 1], None where there is none, and what is shown when the mouse points at it."""

    rate: float | None
    tip: str
    sure: float | None = None
    """The rate that decides the colour, such as the end of an interval nearest to one half; None: `rate`."""
    words: str | None = None
    """What stands in the cell; None: the rate in percent."""


def heat_map(title: str, names: Sequence[str], cell: Callable[[str, str], Cell]) -> str:
    """SVG document with a row and a column for each name; numbers where cells are large enough."""
    size = max(11, min(34, 760 // max(1, len(names))))
    marks: list[Mark] = []
    for row, home in enumerate(names):
        y, along = TOP + size * row, LABEL + size * (row + 0.5)
        marks.append(Words(LABEL - 6, y + size / 2 + 4, home, 12, anchor="end"))
        marks.append(Words(along, TOP - 6, home, 12, turn=-60))
        for column, away in enumerate(names):
            x, (rate, tip, sure, said) = LABEL + size * column, cell(home, away)
            colored = rate if sure is None else sure
            fill, stroke = ("none", FAINT) if colored is None else (shade(colored), GROUND)
            marks.append(Rectangle(x, y, size, size, fill, stroke, tip=tip))
            if size >= 22 or rate is None:
                words, color = ("-", INK) if rate is None else (said or f"{100 * rate:.0f}", on_shade(colored or 0.0))
                marks.append(Words(x + size / 2, y + size / 2 + 4, words, 11, color, "middle"))
    side = size * len(names)
    return as_svg(Drawing(max(LABEL + side, 300) + 60, TOP + side + 10, GROUND, title, marks))
