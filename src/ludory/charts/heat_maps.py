"""A heat map of win rates or scores as one self-contained SVG document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .drawing import Drawing, Mark, Rectangle, Words, as_svg
from .palette import FAINT, GROUND, INK, on_shade, shade

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
