"""The marks that Hanabi's SVG pictures are made of: words, symbols, cards."""

from __future__ import annotations

from collections.abc import Iterable

from ludory.envs.hanabi.sight import LETTERS
from ludory.envs.hanabi.symbols import SYMBOLS

NIGHT, PANEL, LINE, TEXT, FAINT, GOLD = "#0d1630", "#19264a", "#48598a", "#eef2fd", "#a3b1d6", "#ffd166"
CARD_WIDTH, CARD_HEIGHT, PITCH = 62, 86, 74


def words(x: float, y: float, text: str, size: float, fill: str, weight: int = 400, anchor: str = "start") -> str:
    """A line of text that begins, is centred or ends at (x, y)."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" fill="{fill}">{text}</text>'


def shape(color: int, x: float, y: float, radius: float, fill: str, extra: str = "") -> str:
    """The symbol of a colour around (x, y)."""
    place = f'transform="translate({x:g} {y:g}) scale({radius / 12:.3g})"'
    return f'<use href="#hanabi-{LETTERS[color]}" {place} fill="{fill}"{extra and " " + extra}/>'


def at(x: float, y: float, *marks: str) -> str:
    """Marks drawn with their origin at (x, y), as one line of the document."""
    return f'<g transform="translate({x:g} {y:g})">{"".join(marks)}</g>'


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
