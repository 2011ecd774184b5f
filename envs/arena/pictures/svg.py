"""The arena as one self-contained SVG document: a top view, and a card per seat. Every seat has a shape of its own, not only a colour."""

from __future__ import annotations

import math

from ludory.envs import State
from ludory.envs.arena.observe.scene import SIGHT, Body, Scene, condition, fate, look
from ludory.envs.pictures import clickable, labelled_pad, pad, svg_document, words

from . import marks as mark
from .marks import body_marks, crate_mark, definitions, mine_mark, number, seat_mark, shot_mark

VIEW, MARGIN, HEADER, PANEL = 640, 18, 46, 250
"""Pixels: side of the top view, margins, height of the title, width of the cards."""
CARD_HEIGHT, BAR = 72, 128
"""Height of a card, width of a full bar."""
ABILITIES = ("no ability", "dash", "shield", "nova", "mine")
WIDTH, HEIGHT = VIEW + PANEL + 3 * MARGIN, VIEW + HEADER + MARGIN


def draw_svg(state: State, i: int, seat: int | None, bins: tuple[int, int] | None = None) -> str:
    """Game `i` as `seat` sees it; None: everything. bins: values of a movement head and of an aim head, for places to click."""
    scene = look(state, i, seat)
    scale = VIEW / 2 / scene.wall
    lines = [
        words(MARGIN, 31, "Arena", 20, mark.TEXT, 700),
        words(MARGIN + 74, 31, f"{scene.seconds:.1f} s", 15, mark.FAINT),
        words(MARGIN + 140, 31, _state_of_play(scene), 15, mark.WARM if scene.over else mark.FAINT),
        f'<g transform="translate({MARGIN + VIEW / 2:g} {HEADER + VIEW / 2:g}) scale({scale:.4g})">',
        *_ground(scene),
        *(crate_mark(*crate) for crate in scene.crates),
        *(mine_mark(*mine) for mine in scene.mines),
        *(shot_mark(shot) for shot in scene.shots),
        *(line for body in scene.bodies for line in body_marks(body)),
        *(_headings(scene.own, *bins) if bins and scene.own else []),
        "</g>",
        *(_buttons() if bins and scene.own else []),
        f'<g transform="translate({2 * MARGIN + VIEW} {HEADER})">',
        *(line for k in range(scene.players) for line in _seat_card(scene, k, k * (CARD_HEIGHT + 8), PANEL)),
        "</g>",
    ]
    return svg_document(WIDTH, HEIGHT, _title(scene), definitions(scene.wall), mark.NIGHT, lines)


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
        f'<circle r="{number(scene.wall)}" fill="{mark.DANGER}" stroke="{mark.LINE}" stroke-width=".15"/>',
        f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{mark.GROUND}" stroke="{mark.WARM}" stroke-width=".1" stroke-dasharray=".1 .5" stroke-linecap="round"/>',
    ]
    if scene.seat is None:
        return lines
    fog = f"M{number(-scene.wall)} 0a{number(scene.wall)} {number(scene.wall)} 0 1 0 {number(2 * scene.wall)} 0a{number(scene.wall)} {number(scene.wall)} 0 1 0 {number(-2 * scene.wall)} 0Z"
    hole, own = "", scene.own
    if own is not None:
        hole = f"M{number(own.x - SIGHT)} {number(own.y)}a{SIGHT:g} {SIGHT:g} 0 1 0 {2 * SIGHT:g} 0a{SIGHT:g} {SIGHT:g} 0 1 0 {-2 * SIGHT:g} 0Z"
    lines.append(
        f'<path d="{fog}{hole}" fill="{mark.NIGHT}" fill-opacity=".6" fill-rule="evenodd" clip-path="url(#arena-wall)"/>'
    )
    return lines


def _headings(own: Body, moves: int, aims: int) -> list[str]:
    """Places around one's own body: near ones to move there, far ones to aim and fire there."""
    rings = (
        (_square(moves, 2), 2.2, 0.75, "{0}:{2} {1}:{3}", 0),
        (_square(aims, 4), 4.2, 0.7, "{0}:{2} {1}:{3} 4:1", 2),
    )
    marks = []
    for pairs, reach, radius, code, head in rings:
        for a, b, x, y in pairs:
            circle = f'circle cx="{number(own.x + reach * x)}" cy="{number(own.y + reach * y)}" r="{radius}"'
            actions = code.format(head, head + 1, a, b).split()
            marks.append(clickable(actions, pad(circle, mark.COLORS[own.seat] if head == 0 else mark.HURT)))
    return marks


def _square(bins: int, parts: int) -> list[tuple[int, int, float, float]]:
    """Bins of both axes in 4 * `parts` directions, and the direction."""
    last = bins - 1
    places = sorted({round(last * part / parts) for part in range(parts + 1)})
    edge = [(a, b) for a in places for b in places if a in (0, last) or b in (0, last)]
    found = []
    for a, b in edge:
        x, y = 2 * a / last - 1, 2 * b / last - 1
        length = math.hypot(x, y)
        found.append((a, b, x / length, y / length))
    return found


def _buttons() -> list[str]:
    """Buttons in the corners beside the wall."""
    bottom = HEADER + VIEW - 30
    left = [(["send"], "send"), (["4:1"], "fire"), (["4:0"], "hold fire")]
    right = [(["6:1"], "open crate"), *(([f"5:{k}"], name) for k, name in enumerate(ABILITIES))]
    return [
        *(labelled_pad(actions, MARGIN, bottom - 32 * k, 86, 28, name) for k, (actions, name) in enumerate(left)),
        *(
            labelled_pad(actions, MARGIN + VIEW - 86, bottom - 32 * k, 86, 28, name)
            for k, (actions, name) in enumerate(right)
        ),
    ]


def _seat_card(scene: Scene, seat: int, top: float, width: float) -> list[str]:
    """Lines of the document for one seat: who, bars, and what it does."""
    body = next((body for body in scene.bodies if body.seat == seat), None)
    edge = mark.COLORS[seat] if seat == scene.seat else "none"
    place = scene.places[seat]
    note = f"place {place:g}" if place is not None else condition(body) if body else ""
    return [
        f'<g transform="translate(0 {top:g})">',
        f'<rect width="{width:g}" height="{CARD_HEIGHT}" rx="10" fill="{mark.GROUND}" stroke="{edge}" stroke-width="2"/>',
        seat_mark(seat, 26, 36, 14),
        words(50, 22, f"seat {seat}{' (you)' if seat == scene.seat else ''}", 14, mark.TEXT, 700),
        words(width - 12, 22, note, 13, mark.WARM, 400, "end"),
        *(_bars(body) if body else [words(50, 46, fate(scene, seat), 13, mark.FAINT)]),
        "</g>",
    ]


def _bars(body: Body) -> list[str]:
    lines = [
        _bar(32, body.hp, mark.HURT if body.hp < 0.3 else mark.COLORS[body.seat]),
        words(186, 40, f"{100 * body.hp:.0f} hp", 12, mark.TEXT),
    ]
    if body.energy is not None:
        lines += [_bar(46, body.energy, "#8fb8ff"), words(186, 54, f"{100 * body.energy:.0f}", 12, mark.FAINT)]
        lines.append(words(50, 66, f"{body.ammunition} shots", 11, mark.FAINT))
    return lines


def _bar(top: float, part: float, fill: str) -> str:
    return (
        f'<g><rect x="50" y="{top:g}" width="{BAR}" height="8" rx="4" fill="{mark.NIGHT}"/>'
        f'<rect x="50" y="{top:g}" width="{number(BAR * part)}" height="8" rx="4" fill="{fill}"/></g>'
    )
