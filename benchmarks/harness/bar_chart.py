"""A bar chart as one self-contained SVG document, readable in monochrome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .drawing import INK, document, text

WIDTH, LABELS, NUMBERS, ROW, TITLE, MARGIN = 900, 300, 110, 26, 40, 16
OWN, PEER = "#0072b2", "#c8c8c8"
"""Blue and light grey: apart for every kind of colour vision, and in print."""


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
    """SVG document with one panel below the other; each panel's longest bar has its largest value."""
    parts, y = [], MARGIN
    for panel in panels:
        parts.append(text(MARGIN, y + 18, panel.title, "start", "bold"))
        y += TITLE
        longest = max((bar.value for bar in panel.bars if bar.value is not None), default=1.0) or 1.0
        for bar in panel.bars:
            parts += _bar(bar, y, longest)
            y += ROW
        y += MARGIN
    parts.append(text(MARGIN, y + 12, caption, "start"))
    height = y + 12 + MARGIN
    return document(WIDTH, height, parts)


def _bar(bar: Bar, y: int, longest: float) -> list[str]:
    parts = [text(LABELS - 8, y + 15, bar.label, "end")]
    if bar.value is None:
        return [*parts, text(LABELS, y + 15, f"missing: {bar.note}"[:80], "start")]
    length = max(1.0, (WIDTH - LABELS - NUMBERS - MARGIN) * bar.value / longest)
    color = OWN if bar.own else PEER
    rect = f"<rect x='{LABELS}' y='{y + 2}' width='{length:.1f}' height='{ROW - 7}' fill='{color}' stroke='{INK}'/>"
    return [*parts, rect, text(LABELS + length + 6, y + 15, f"{bar.value:,.0f}", "start")]
