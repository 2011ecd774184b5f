"""The value of a game over its moves, with the moves that cost most; points are links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .axes import frame, linear_axis
from .drawing import FILLS, GROUND, STYLES, Dot, Drawing, Mark, Path, Words, as_svg, line

_WIDTH, _HEIGHT, _LEFT, _RIGHT = 800, 240, 52, 16
MARKED = FILLS[5]


class GraphPoint(NamedTuple):
    """The value before a move."""

    x: int
    """Number of moves made."""
    y: float
    error: float
    """Standard error of `y`."""
    link: str
    """Where a click on it leads."""
    tip: str
    mark: str = ""
    """Words beside it, for the moves that cost most; "" for others."""


def game_graph(title: str, unit: str, points: Sequence[GraphPoint], moves: int, current: int) -> str:
    """SVG document of a line of values with a band of one standard error, and a dot for every move.

    Args:
        title: for screen readers.
        unit: of the values.
        points: in order of their moves, at least one.
        moves: of the whole game.
        current: number of moves at the position that is shown.
    """
    lows, highs = [one.y - one.error for one in points], [one.y + one.error for one in points]
    x = linear_axis("moves made", 0, max(moves, 1), min(max(moves, 1), 10), widen=False).between(_LEFT, _WIDTH - _RIGHT)
    y = linear_axis(unit, min(lows), max(highs), 4).between(_HEIGHT - 46, 28)
    color, _ = STYLES[0]
    marks: list[Mark] = [*frame(x, y, beside=False)]
    marks.append(line(x(current), y.start, x(current), y.stop, STYLES[5][0], 2))
    if len(points) > 1:
        there = [(x(one.x), y(high)) for one, high in zip(points, highs, strict=True)]
        back = [(x(one.x), y(low)) for one, low in zip(points, lows, strict=True)]
        marks.append(Path([*there, *reversed(back)], fill=color, opacity=0.15))
        marks.append(Path([(x(one.x), y(one.y)) for one in points], color, 2))
    for one in points:
        if one.mark:
            above = y(one.y) > 60
            marks.append(Words(x(one.x), y(one.y) + (-12 if above else 20), one.mark, 12, anchor="middle", bold=True))
        marks.append(
            Dot(x(one.x), y(one.y), 6 if one.mark else 4, MARKED if one.mark else color, GROUND, one.tip, one.link)
        )
    return as_svg(Drawing(_WIDTH, _HEIGHT, GROUND, title, marks))
