"""The colours of charts: apart for every kind of colour vision, and with the dashes also in print."""

from __future__ import annotations

INK, FAINT, GROUND = "#1a1a1a", "#d9d9d9", "#ffffff"
"""Of words and lines, of grids, and of the paper."""
STYLES: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("#0072b2", ()),
    ("#d55e00", (8, 3)),
    ("#009e73", (2, 3)),
    ("#aa3377", (9, 3, 2, 3)),
    ("#6b6b6b", (14, 4)),
    ("#b58900", (5, 2)),
)
"""Colour and dashes of each line."""
FILLS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""Of areas with a label."""
_LOW, _MIDDLE, _HIGH = (213, 94, 0), (247, 247, 247), (0, 114, 178)


def shade(rate: float) -> str:
    """Orange for 0, near white for 1/2, blue for 1."""
    share, end = abs(rate - 0.5) * 2, _HIGH if rate > 0.5 else _LOW
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in zip(_MIDDLE, end, strict=True))


def on_shade(rate: float) -> str:
    """A colour of text that can be read on `shade(rate)`."""
    return GROUND if rate > 0.85 else INK
