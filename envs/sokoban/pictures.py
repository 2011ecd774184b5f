"""Pictures of Sokoban: symbols with colours for the terminal, and SVG."""

from __future__ import annotations

from ludory.envs import State
from ludory.envs.pictures import as_wanted, at, clickable, paint, svg_document, words

from .options import ACTION_NAMES, DIRECTIONS, SokobanOptions
from .state import BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET, TARGET, WALL, dead, drawn_codes

SYMBOLS = "#_O√XPS"
"""Symbols of the codes 0..6."""
_COLORS = ("90", "90", "91", "1;92", "93", "1;96", "1;96")
SIDE, MARGIN, FOOT = 44, 16, 40


def draw_text(options: SokobanOptions, state: State, i: int, seat: int | None) -> str:
    """Game i as symbols, with its count of steps. Without colours if NO_COLOR is set."""
    codes = drawn_codes(state, [i])[0].tolist()
    lines = ["".join(paint(SYMBOLS[code], _COLORS[code]) for code in row) for row in codes]
    return as_wanted("\n".join([*lines, _caption(options, state, i)]))


def _caption(options: SokobanOptions, state: State, i: int) -> str:
    solved = int(state.on_target[i]) == options.boxes
    end = "solved" if solved else "out of steps" if bool(state.truncated[i]) else "stuck" if dead(state, i) else ""
    return (
        f"step {int(state.steps[i])}/{options.max_steps} · "
        f"boxes on target {int(state.on_target[i])}/{options.boxes}{' · ' + end if end else ''}"
    )


def _box(fill: str, edge: str) -> str:
    """A crate."""
    return (
        f'<rect x="6" y="6" width="32" height="32" rx="4" fill="{fill}" stroke="{edge}" stroke-width="3"/>'
        f'<path d="M8 8 L36 36 M36 8 L8 36" stroke="{edge}" stroke-width="3"/>'
    )


_WALL = f'<rect width="{SIDE}" height="{SIDE}" fill="#3c4452"/><rect x="2" y="2" width="{SIDE - 4}" height="{SIDE - 4}" rx="4" fill="#4d5768"/>'
_FLOOR = f'<rect x="1" y="1" width="{SIDE - 2}" height="{SIDE - 2}" rx="3" fill="#f3eee2"/>'
_GOAL = f'<circle cx="{SIDE / 2}" cy="{SIDE / 2}" r="9" fill="none" stroke="#c8443c" stroke-width="4"/>'
_MARKS = {
    "wall": _WALL,
    "floor": _FLOOR,
    "goal": _GOAL,
    "box": _box("#b07b3a", "#8a5a22"),
    "done": _box("#4f9d58", "#2f7038"),
    "player": '<circle cx="22" cy="22" r="14" fill="#2f6fb5"/><circle cx="17" cy="19" r="2.5" fill="#fff"/>'
    '<circle cx="27" cy="19" r="2.5" fill="#fff"/>',
}


def draw_svg(options: SokobanOptions, state: State, i: int, seat: int | None) -> str:
    """Game i as one SVG document."""
    codes = drawn_codes(state, [i])[0].tolist()
    width, height = options.columns * SIDE + 2 * MARGIN, options.rows * SIDE + 2 * MARGIN + FOOT
    beside = _beside(options, int(state.player[i]))
    lines = [
        at(MARGIN + column * SIDE, MARGIN + row * SIDE, _cell(code, beside.get((row, column))))
        for row, line in enumerate(codes)
        for column, code in enumerate(line)
    ]
    caption = words(width / 2, height - 20, _caption(options, state, i), 16, "#3c4452", anchor="middle")
    marks = "".join(f'<g id="{name}">{mark}</g>' for name, mark in _MARKS.items())
    return svg_document(width, height, "Sokoban", marks, "#e7e3d8", [*lines, caption])


def _beside(options: SokobanOptions, player: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """The actions towards each cell beside the player, with pushing before without, by row and column."""
    row, column = divmod(player, options.columns)
    cells = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1), (row, column))
    names = ACTION_NAMES[options.actions]
    wanted = [{name, f"Push {name}", f"Move {name}"} for name in DIRECTIONS] + [{"Nothing"}]
    return {
        cell: tuple(action for action, name in enumerate(names) if name in fitting)
        for cell, fitting in zip(cells, wanted, strict=True)
    }


def _cell(code: int, actions: tuple[int, ...] | None) -> str:
    marks = "".join(_use(name) for name in _layers(code))
    return clickable(actions, marks) if actions else marks


def _use(name: str) -> str:
    return f'<use href="#{name}"/>'


def _layers(code: int) -> list[str]:
    """Marks of a cell, from the bottom."""
    if code == WALL:
        return ["wall"]
    layers = ["floor"]
    if code in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET):
        layers.append("goal")
    if code in (BOX, BOX_ON_TARGET):
        layers.append("done" if code == BOX_ON_TARGET else "box")
    if code in (PLAYER, PLAYER_ON_TARGET):
        layers.append("player")
    return layers
