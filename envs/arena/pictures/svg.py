"""The arena as one self-contained SVG document: a top view, and a card per seat. Every seat has a shape of its own, not only a colour.

Marks are lines of their own: a page of many pictures keeps those that come again once.
"""

from __future__ import annotations

from ludory.envs.arena.observe.scene import SIGHT, Scene, look
from ludory.envs.game import State

from .cards import CARD_HEIGHT, seat_card
from .marks import (
    DANGER,
    FAINT,
    GROUND,
    LINE,
    NIGHT,
    TEXT,
    WARM,
    body_marks,
    crate_mark,
    definitions,
    mine_mark,
    number,
    shot_mark,
    words,
)

VIEW, MARGIN, HEADER, PANEL = 640, 18, 46, 250
"""Pixels: side of the top view, margins, height of the title, width of the cards."""
WIDTH, HEIGHT = VIEW + PANEL + 3 * MARGIN, VIEW + HEADER + MARGIN


def draw_svg(state: State, i: int, seat: int | None) -> str:
    """Game `i` as `seat` sees it; None: everything."""
    scene = look(state, i, seat)
    scale = VIEW / 2 / scene.wall
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            "role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">",
            f"<title>{_title(scene)}</title>",
            definitions(scene.wall),
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="18" fill="{NIGHT}"/>',
            words(MARGIN, 31, "Arena", 20, TEXT, 700),
            words(MARGIN + 74, 31, f"{scene.seconds:.1f} s", 15, FAINT),
            words(MARGIN + 140, 31, _state_of_play(scene), 15, WARM if scene.over else FAINT),
            f'<g transform="translate({MARGIN + VIEW / 2:g} {HEADER + VIEW / 2:g}) scale({scale:.4g})">',
            *_ground(scene),
            *(crate_mark(*crate) for crate in scene.crates),
            *(mine_mark(*mine) for mine in scene.mines),
            *(shot_mark(shot) for shot in scene.shots),
            *(line for body in scene.bodies for line in body_marks(body)),
            "</g>",
            f'<g transform="translate({2 * MARGIN + VIEW} {HEADER})">',
            *(line for k in range(scene.players) for line in seat_card(scene, k, k * (CARD_HEIGHT + 8), PANEL)),
            "</g>",
            "</svg>",
        ]
    )


def _title(scene: Scene) -> str:
    view = "everything" if scene.seat is None else f"as seat {scene.seat} sees it"
    return f"Arena for {scene.players}, {scene.seconds:.1f} s, {view}"


def _state_of_play(scene: Scene) -> str:
    winners = [seat for seat, place in enumerate(scene.places) if place == 1]
    if scene.over:
        return f"seat {winners[0]} is the last one standing" if winners else "nobody is left alone"
    return f"{sum(scene.alive)} of {scene.players} alive"


def _ground(scene: Scene) -> list[str]:
    """The wall, what burns, the zone, and how far the seat sees."""
    x, y, radius = (number(value) for value in scene.zone)
    lines = [
        f'<circle r="{number(scene.wall)}" fill="{DANGER}" stroke="{LINE}" stroke-width=".15"/>',
        f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{GROUND}" stroke="{WARM}" stroke-width=".1" stroke-dasharray=".1 .5" stroke-linecap="round"/>',
    ]
    if scene.seat is None:
        return lines
    fog = f"M{number(-scene.wall)} 0a{number(scene.wall)} {number(scene.wall)} 0 1 0 {number(2 * scene.wall)} 0a{number(scene.wall)} {number(scene.wall)} 0 1 0 {number(-2 * scene.wall)} 0Z"
    hole, own = "", scene.own
    if own is not None:
        hole = f"M{number(own.x - SIGHT)} {number(own.y)}a{SIGHT:g} {SIGHT:g} 0 1 0 {2 * SIGHT:g} 0a{SIGHT:g} {SIGHT:g} 0 1 0 {-2 * SIGHT:g} 0Z"
    lines.append(
        f'<path d="{fog}{hole}" fill="{NIGHT}" fill-opacity=".6" fill-rule="evenodd" clip-path="url(#arena-wall)"/>'
    )
    return lines
