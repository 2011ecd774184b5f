"""The marks that Hanabi's SVG pictures are made of: symbols and cards.

Every colour has a fill, an ink that is readable on it and a shape, so that no colour is told by hue alone. Hues after Okabe and Ito,
"Color Universal Design" (2008), which stay apart under the common kinds of colour blindness.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ludory.envs.hanabi.sight import LETTERS
from ludory.envs.pictures import words

NIGHT, PANEL, LINE, TEXT, FAINT, GOLD = "#0d1630", "#19264a", "#48598a", "#eef2fd", "#a3b1d6", "#ffd166"
CARD_WIDTH, CARD_HEIGHT, PITCH = 62, 86, 74
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


def shape(color: int, x: float, y: float, radius: float, fill: str, extra: str = "") -> str:
    """The symbol of a colour around (x, y)."""
    place = f'transform="translate({x:g} {y:g}) scale({radius / 12:.3g})"'
    return f'<use href="#hanabi-{LETTERS[color]}" {place} fill="{fill}"{extra and " " + extra}/>'


def group(x: float, y: float, lines: Iterable[str]) -> list[str]:
    """Lines of the document drawn with their origin at (x, y)."""
    return [f'<g transform="translate({x:g} {y:g})">', *lines, "</g>"]


def frame(fill: str, stroke: str, extra: str = "") -> str:
    """The outline of a card."""
    size = f'width="{CARD_WIDTH}" height="{CARD_HEIGHT}" rx="8"'
    return f'<rect {size} fill="{fill}" stroke="{stroke}" stroke-width="1.5"{extra and " " + extra}/>'


def face(color: int, rank: int) -> str:
    """A card face up: rank, symbol and letter on its colour."""
    symbol = SYMBOLS[color]
    return (
        frame(symbol.fill, NIGHT)
        + words(8, 28, str(rank + 1), 26, symbol.ink, 800)
        + shape(color, CARD_WIDTH / 2 + 2, 51, 17, symbol.ink)
        + words(CARD_WIDTH - 7, CARD_HEIGHT - 8, LETTERS[color], 12, symbol.ink, 700, "end")
    )


def back(color: int | None, rank: int | None) -> str:
    """A card face down with what hints told of it."""
    size = f'width="{CARD_WIDTH - 10}" height="{CARD_HEIGHT - 10}"'
    marks = [
        frame("#2a3b68", "#8fa3d4"),
        f'<rect x="5" y="5" {size} rx="5" fill="none" stroke="#5f74ab" stroke-dasharray="3 3"/>',
    ]
    if color is None and rank is None:
        return "".join(marks) + words(CARD_WIDTH / 2, 55, "?", 32, FAINT, 700, "middle")
    marks.append(words(11, 30, "?" if rank is None else str(rank + 1), 22, FAINT if rank is None else TEXT, 800))
    if color is None:
        return "".join(marks) + words(CARD_WIDTH / 2 + 2, 64, "?", 30, FAINT, 700, "middle")
    marks.append(shape(color, CARD_WIDTH / 2 + 2, 51, 16, SYMBOLS[color].fill, f'stroke="{TEXT}" stroke-width=".9"'))
    marks.append(words(CARD_WIDTH - 11, CARD_HEIGHT - 11, LETTERS[color], 12, TEXT, 700, "end"))
    return "".join(marks)
