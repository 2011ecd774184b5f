"""Pictures of Sudoku: coloured text for the terminal, and SVG."""

from __future__ import annotations

import math

from ludory.envs import State
from ludory.envs.pictures import as_wanted, clickable, pad, paint, svg_document, words

from .rules import ACCEPTED, OTHER, REFUSED
from .text import BLANK, RULES, action_name

SIDE, MARGIN, HEADER, LEAST_WIDTH = 48, 16, 44, 380
PAPER, LINE, INK, OWN, GROUND, TEXT = "#fbfaf5", "#5b5a52", "#24231f", "#1565c0", "#2b2a26", "#f4f2e8"
SAID = {REFUSED: "refused", ACCEPTED: "accepted", OTHER: "accepted"}


def draw_text(state: State, i: int, seat: int | None) -> str:
    """Game `i` in the style "grid"; own entries are blue. Without colours if NO_COLOR is set."""
    codes, given = state.codes[i].tolist(), state.given[i].tolist()
    size, lines = len(codes), []
    box = math.isqrt(size)
    for row in range(size):
        lines += ["-" * RULES[size]] if row and row % box == 0 else []
        cells = [_cell(codes[row][column], given[row][column]) for column in range(size)]
        lines.append(" | ".join(" ".join(cells[at : at + box]) for at in range(0, size, box)))
    said = last_move(state, i)
    return as_wanted("\n".join([*lines, f"step {int(state.steps[i])}" + (f": {said}" if said else "")]))


def _cell(value: int, given: int) -> str:
    return paint(str(value), "1" if given else "94") if value else BLANK


def last_move(state: State, i: int) -> str:
    """The last placement and whether it was accepted, "" before the first."""
    action = int(state.last[i])
    if action < 0:
        return ""
    row, column, value = action_name(len(state.codes[i]), action).split(",")
    return f"{value} in row {row}, column {column}, {SAID[int(state.outcome[i])]}"


def draw_svg(state: State, i: int, seat: int | None) -> str:
    """Game `i` as one SVG document; own entries are blue and italic."""
    codes, given = state.codes[i].tolist(), state.given[i].tolist()
    size = len(codes)
    box, board = math.isqrt(size), size * SIDE
    width = max(board + 2 * MARGIN, LEAST_WIDTH)
    left = (width - board) / 2
    said = last_move(state, i)
    lines = [
        words(MARGIN, 29, f"step {int(state.steps[i])}{': ' + said if said else ''}", 15, TEXT, 600),
        f'<rect x="{left:g}" y="{HEADER}" width="{board}" height="{board}" fill="{PAPER}"/>',
    ]
    for row in range(size):
        for column in range(size):
            value, own, mark = codes[row][column], not given[row][column], ""
            if value:
                x, y = left + (column + 0.5) * SIDE, HEADER + (row + 0.5) * SIDE + 9
                mark = words(x, y, str(value), 26, OWN if own else INK, 400 if own else 700, "middle")
            if own:
                where = f'x="{left + column * SIDE:g}" y="{HEADER + row * SIDE}"'
                # the actions of a cell, one for each value, follow each other
                first = (row * size + column) * size
                square = pad(f'rect {where} width="{SIDE}" height="{SIDE}"', OWN)
                mark = clickable(range(first, first + size), square, f'<g font-style="italic">{mark}</g>')
            if mark:
                lines.append(mark)
    for k in range(size + 1):
        at, wide = k * SIDE, 3 if k % box == 0 else 1
        way = f"M{left:g} {HEADER + at}h{board}M{left + at:g} {HEADER}v{board}"
        lines.append(f'<path d="{way}" stroke="{LINE}" stroke-width="{wide}"/>')
    title = f"Sudoku of {size} x {size} cells, {int(state.blanks[i])} blank"
    return svg_document(width, board + HEADER + MARGIN, title, "", GROUND, lines)
