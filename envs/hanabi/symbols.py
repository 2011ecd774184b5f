"""The five colours of Hanabi's pictures: a fill, an ink that reads on it, and a shape, so that no colour is told by hue alone.

Hues after Okabe and Ito, "Color Universal Design" (2008), which stay apart under the common kinds of colour blindness.
"""

from __future__ import annotations

from typing import NamedTuple

DARK, LIGHT = "#101a30", "#ffffff"


class Symbol(NamedTuple):
    """How a colour is drawn; `path` is centred on 0, 0 and fits in a circle of radius 12."""

    fill: str
    ink: str
    path: str


SYMBOLS = (
    Symbol(
        "#d55e00", LIGHT, "M0 10C-4 6.500-11 2-11-4A5.600 5.600 0 0 1 0-6A5.600 5.600 0 0 1 11-4C11 2 4 6.500 0 10Z"
    ),
    Symbol(
        "#f0e442",
        DARK,
        "M0-11.500L3-4L11-3.500L4.800 1.700L6.800 9.500L0 5.200L-6.800 9.500L-4.800 1.700L-11-3.500L-3-4Z",
    ),
    Symbol(
        "#009e73",
        DARK,
        "M-1.300 2.500A5 5 0 1 1-4.600-3.600A5 5 0 1 1 4.600-3.600A5 5 0 1 1 1.300 2.500Q1.600 7.500 4.500 10.500H-4.500Q-1.600 7.500-1.300 2.500Z",
    ),
    Symbol("#ffffff", DARK, "M4-10A10.500 10.500 0 1 0 4 10A8.500 10 0 0 1 4-10Z"),
    Symbol("#3f8fd8", DARK, "M0-11.500C4-5 8-1 8 4A8 7.500 0 0 1-8 4C-8-1-4-5 0-11.500Z"),
)
"""Red heart, yellow star, green clover, white moon, blue drop."""
