"""The arena in the terminal: a top view, one character per unit, and a line per seat."""

from __future__ import annotations

import math

from ludory.envs import State
from ludory.envs.arena.observe.scene import Scene, condition, fate, look
from ludory.envs.pictures import as_wanted, paint

INKS = ("93", "96", "92", "95", "94", "91", "97", "33")
"""Escape codes of the seats, which also differ by their digits."""
FAINT, STRONG = "2", "1"
CRATE_SIGNS = ("+", "=")
LEGEND = "() shield  * winding up  - shot  x mine  + health  = supply  . zone  # wall"

Cells = dict[tuple[int, int], str]


def draw_text(state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: everything. Without colours if NO_COLOR is set."""
    scene = look(state, i, seat)
    return as_wanted("\n".join([_heading(scene), *_map(scene), *_seats(scene), paint(LEGEND, FAINT)]))


def _heading(scene: Scene) -> str:
    living = f"{sum(scene.alive)} of {scene.players} alive"
    end = "   over" if scene.over else ""
    return f"{paint('Arena', STRONG)}   {scene.seconds:.1f} s   {living}   zone {scene.zone[2]:.1f}{end}"


def _map(scene: Scene) -> list[str]:
    # half the map in characters, a unit each; y grows downwards as rows do
    half, cells = math.ceil(scene.wall), Cells()
    _ring(cells, half, 0, 0, scene.wall, paint("#", FAINT))
    if scene.zone[2] < scene.wall:
        _ring(cells, half, *scene.zone, ".")
    for owner, x, y in scene.mines:
        cells[_cell(half, x, y)] = paint("x", INKS[owner])
    for x, y, kind in scene.crates:
        cells[_cell(half, x, y)] = CRATE_SIGNS[kind]
    for shot in scene.shots:
        cells[_cell(half, shot.x, shot.y)] = paint("-", INKS[shot.owner])
    # bodies last, over everything else; their signs beside them first, so that no sign hides a body
    for body in scene.bodies:
        row, column = _cell(half, body.x, body.y)
        left, right = ("(", ")") if body.shield else ("*", "*") if body.windup else ("", "")
        if left:
            cells[row, column - 1], cells[row, column + 1] = left, right
    for body in scene.bodies:
        cells[_cell(half, body.x, body.y)] = paint(str(body.seat), f"1;{INKS[body.seat]}")
    rows = ([cells.get((row, column), " ") for column in range(-1, 2 * half + 1)] for row in range(2 * half))
    return ["".join(row).rstrip() for row in rows]


def _cell(half: int, x: float, y: float) -> tuple[int, int]:
    """Row and column of a point; points on the wall's far edge belong to the last cell."""
    return min(2 * half - 1, math.floor(y + half)), min(2 * half - 1, math.floor(x + half))


def _ring(cells: Cells, half: int, x: float, y: float, radius: float, sign: str) -> None:
    # seven dots a unit: more than the circle has cells, so that no gap is left
    dots = max(8, math.ceil(7 * radius))
    for k in range(dots):
        angle = 2 * math.pi * k / dots
        cells[_cell(half, x + radius * math.cos(angle), y + radius * math.sin(angle))] = sign


def _seats(scene: Scene) -> list[str]:
    return [_seat_line(scene, seat) for seat in range(scene.players)]


def _seat_line(scene: Scene, seat: int) -> str:
    name = paint(f"seat {seat}", INKS[seat]) + (
        " you" if seat == scene.seat else "    " if scene.seat is not None else ""
    )
    body = next((body for body in scene.bodies if body.seat == seat), None)
    if body is None:
        return f"{name}  {paint('  '.join(filter(None, (fate(scene, seat), _place(scene, seat)))), FAINT)}"
    parts = [f"hp {100 * body.hp:3.0f}"]
    if body.energy is not None:
        parts += [f"energy {100 * body.energy:3.0f}", f"shots {body.ammunition:2d}"]
    parts += [condition(body), _place(scene, seat)]
    return f"{name}  {'  '.join(part for part in parts if part)}"


def _place(scene: Scene, seat: int) -> str:
    place = scene.places[seat]
    return "" if place is None else f"place {place:g}"
