"""Dominoes and the colours of Texas 42's drawings."""

from __future__ import annotations

from ludory.charts import Dot, Mark, Path, Rectangle, shifted
from ludory.envs.texas42.tiles import COUNT, HIGH, LOW

GROUND, PANEL, LINE, INK, FAINT, ACCENT = "#ffffff", "#f2f5fa", "#c6cfde", "#17203a", "#5a6788", "#1f5fbf"
IVORY, GOLD, GHOST, GOOD, BAD = "#fbf6e6", "#b8860b", "#dfe4ee", "#2f7d4f", "#b3442f"
_LEFT, _MIDDLE, _RIGHT = 0.24, 0.5, 0.76
_SPOTS = {
    0: (),
    1: ((_MIDDLE, _MIDDLE),),
    2: ((_LEFT, _LEFT), (_RIGHT, _RIGHT)),
    3: ((_LEFT, _LEFT), (_MIDDLE, _MIDDLE), (_RIGHT, _RIGHT)),
    4: ((_LEFT, _LEFT), (_LEFT, _RIGHT), (_RIGHT, _LEFT), (_RIGHT, _RIGHT)),
    5: ((_LEFT, _LEFT), (_LEFT, _RIGHT), (_RIGHT, _LEFT), (_RIGHT, _RIGHT), (_MIDDLE, _MIDDLE)),
    6: tuple((x, y) for x in (_LEFT, _RIGHT) for y in (_LEFT, _MIDDLE, _RIGHT)),
}


def domino(tile: int, x: float, y: float, width: float = 32.0, frame: str = "", ghost: bool = False) -> list[Mark]:
    """A domino, twice as high as wide, its higher pip above; tiles that count have a golden rim; frame: colour around it."""
    ink, face = (LINE, GROUND) if ghost else (INK, IVORY)
    marks: list[Mark] = []
    if frame:
        marks.append(Rectangle(-3, -3, width + 6, 2 * width + 6, frame, radius=0.25 * width))
    rim = GHOST if ghost else GOLD if COUNT[tile] else FAINT
    marks.append(Rectangle(0, 0, width, 2 * width, face, rim, max(1.0, 0.07 * width), 0.17 * width))
    marks.append(Path(((0.14 * width, width), (0.86 * width, width)), ink, max(0.7, 0.04 * width)))
    for half, pips in enumerate((HIGH[tile], LOW[tile])):
        marks += [Dot(a * width, (b + half) * width, 0.095 * width, ink) for a, b in _SPOTS[pips]]
    return [shifted(mark, x, y) for mark in marks]


def blend(one: str, other: str, share: float) -> str:
    """A colour between two, `share` of the way to the other."""
    parts = [(int(one[k : k + 2], 16), int(other[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)
