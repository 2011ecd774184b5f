"""A bar chart as one self-contained SVG document, readable in monochrome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .drawing import Drawing, Mark, Rectangle, Words, as_svg
from .palette import GROUND, INK, STYLES

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
