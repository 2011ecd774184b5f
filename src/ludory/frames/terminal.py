"""Text for terminals, with colours as ANSI escape codes (ECMA-48, SGR), as an SVG document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from ludory.visible import visible

SIZE, ADVANCE, LINE, MARGIN = 16, 9.633, 20, 16
"""Pixels: font size, width of a character in DejaVu Sans Mono at that size, distance of lines, margin."""
GROUND, TEXT = "#101828", "#e6eaf2"
DARK = ("#101828", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4")
BRIGHT = ("#7f8899", "#ff7b86", "#b5e890", "#ffd98a", "#7cc4ff", "#dc9bf2", "#74d7e3", "#ffffff")
"""Colours 30 to 37 and 90 to 97: black, red, green, yellow, blue, magenta, cyan, white."""

_CODES = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
_COLORS = {base + k: color for base, row in ((30, DARK), (90, BRIGHT)) for k, color in enumerate(row)}


def text_svg(text: str) -> str:
    """A document that shows `text` in a fixed-width font: its colours, backgrounds, bold and faint characters."""
    lines = text.split("\n")
    widths = [len(_CODES.sub("", line)) for line in lines]
    width, height = round(2 * MARGIN + ADVANCE * max(widths)), 2 * MARGIN + LINE * len(lines)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" font-family="\'DejaVu Sans Mono\', ui-monospace, monospace">',
            f'<rect width="{width}" height="{height}" rx="12" fill="{GROUND}"/>',
            *_marks(lines),
            "</svg>",
        ]
    )


def _marks(lines: list[str]) -> Iterator[str]:
    style: set[int] = set()
    for row, line in enumerate(lines):
        column, rest = 0, line
        while rest:
            found = _CODES.search(rest)
            run = rest[: found.start()] if found else rest
            if run:
                yield from _run(run, column, row, style)
            column += len(run)
            rest = rest[found.end() :] if found else ""
            if found and found[2] == "m":
                style = _styled(style, found[1])


def _styled(style: set[int], codes: str) -> set[int]:
    """The codes in force after one more escape sequence; 0 or nothing ends all of them."""
    for code in codes.split(";"):
        number = int(code) if code.isdecimal() else 0
        kind = _kind(number)
        # a colour takes the place of another one; other codes add up
        style = set() if number == 0 else {other for other in style if not kind or _kind(other) != kind} | {number}
    return style


def _kind(code: int) -> str:
    # the code of a background is that of the colour and 10
    return "ink" if code in _COLORS else "ground" if code - 10 in _COLORS else ""


def _run(run: str, column: int, row: int, style: set[int]) -> Iterator[str]:
    x, y, width = MARGIN + ADVANCE * column, MARGIN + LINE * row, ADVANCE * len(run)
    ground = next((_COLORS[code - 10] for code in style if _kind(code) == "ground"), "")
    if ground:
        yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LINE}" fill="{ground}"/>'
    if run.strip():
        ink = next((_COLORS[code] for code in style if _kind(code) == "ink"), TEXT)
        weight = ' font-weight="700"' if 1 in style else ""
        faint = ' fill-opacity=".6"' if 2 in style else ""
        place = f'x="{x:.1f}" y="{y + 15}" font-size="{SIZE}" xml:space="preserve"'
        yield f'<text {place} fill="{ink}"{weight}{faint}>{escape(visible(run))}</text>'
