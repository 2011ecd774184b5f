"""Pictures of FrozenLake: coloured text for the terminal, and SVG."""

from __future__ import annotations

from ludory.envs import State
from ludory.envs.pictures import as_wanted, at, clickable, paint, svg_document, words

from .rules import DIRECTIONS, GOAL, HOLE, START
from .text import DRAWN, SYMBOLS, drawn_codes

COLORS = {
    "player": "1;30;43",
    "hole": "97;44",
    "goal": "1;97;42",
    "player_in_hole": "1;97;41",
    "player_on_goal": "1;97;42",
}
LEFT, DOWN, RIGHT, UP = range(4)
SIDE, MARGIN, HEADER, LEAST_WIDTH = 64, 16, 44, 400
ICE_FILL, EDGE, WATER, GROUND, TEXT = "#dff1fa", "#9cc7dd", "#17507a", "#0f2230", "#eaf6fc"


def draw_text(state: State, i: int, seat: int | None) -> str:
    """Game `i` with the symbols of the style "grid" in colour; without colours if NO_COLOR is set."""
    lines = []
    for row in drawn_codes(state, [i])[0].tolist():
        kinds = [DRAWN[code] for code in row]
        lines.append("".join(paint(SYMBOLS[kind], COLORS[kind]) if kind in COLORS else SYMBOLS[kind] for kind in kinds))
    said = last_move(state, i)
    return as_wanted("\n".join([*lines, f"step {int(state.steps[i])}" + (f": {said}" if said else "")]))


def last_move(state: State, i: int) -> str:
    """The last action and what came of it, "" before the first."""
    action, direction = (int(value) for value in state.last[i])
    if action < 0:
        return ""
    slip = f", slipped {DIRECTIONS[direction].lower()}" if direction != action else ""
    return f"{DIRECTIONS[action].lower()}{slip}{'' if int(state.effective[i]) else ', stayed in place'}"


def draw_svg(state: State, i: int, seat: int | None) -> str:
    """Game `i` as one SVG document."""
    size = len(state.cells[i])
    width = max(size * SIDE + 2 * MARGIN, LEAST_WIDTH)
    left, height = (width - size * SIDE) / 2, size * SIDE + HEADER + MARGIN
    said = last_move(state, i)
    lines = [words(MARGIN, 29, f"step {int(state.steps[i])}{': ' + said if said else ''}", 15, TEXT, 600)]
    row, column = divmod(int(state.player[i]), size)
    beside = {(row, column - 1): LEFT, (row + 1, column): DOWN, (row, column + 1): RIGHT, (row - 1, column): UP}
    for cell, code in enumerate(state.cells[i].ravel().tolist()):
        direction = beside.get(divmod(cell, size))
        mark = _cell(code) if direction is None else clickable([direction], _cell(code))
        lines.append(at(left + cell % size * SIDE, HEADER + cell // size * SIDE, mark))
    lines.append(
        at(left + (column + 0.5) * SIDE, HEADER + (row + 0.5) * SIDE, _player(int(state.cells[i, row, column])))
    )
    title = f"FrozenLake of {size} x {size} cells, step {int(state.steps[i])}"
    return svg_document(width, height, title, "", GROUND, lines)


def _cell(code: int) -> str:
    ice = f'<rect width="{SIDE}" height="{SIDE}" fill="{ICE_FILL}" stroke="{EDGE}"/>'
    half = SIDE / 2
    if code == HOLE:
        return ice + f'<circle cx="{half:g}" cy="{half:g}" r="24" fill="{WATER}" stroke="{EDGE}" stroke-width="3"/>'
    if code == GOAL:
        flag = (
            '<path d="M24 54V12L48 21L24 30" fill="#d1495b" stroke="#7a1f2d" stroke-width="3" stroke-linejoin="round"/>'
        )
        return ice + flag
    if code == START:
        return ice + words(half, SIDE - 8, "start", 12, "#5b8aa3", 400, "middle")
    return ice


def _player(under: int) -> str:
    fill = "#7a1f2d" if under == HOLE else "#2e7d32" if under == GOAL else "#f2a33a"
    return f'<circle cy="-8" r="9" fill="{fill}"/><path d="M-13 20C-13 -2 13 -2 13 20Z" fill="{fill}"/>'
