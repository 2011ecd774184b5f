"""The cards beside the arena's top view: one for each seat."""

from __future__ import annotations

from ludory.envs.arena.observe.scene import Body, Scene, condition, fate

from .marks import COLORS, FAINT, GROUND, HURT, NIGHT, TEXT, WARM, number, seat_mark, words

CARD_HEIGHT = 72
BAR = 128
"""Width of a full bar."""


def seat_card(scene: Scene, seat: int, top: float, width: float) -> list[str]:
    """Lines of the document for one seat: who, bars, and what it does."""
    body = next((body for body in scene.bodies if body.seat == seat), None)
    edge = COLORS[seat] if seat == scene.seat else "none"
    place = scene.places[seat]
    return [
        f'<g transform="translate(0 {top:g})">',
        f'<rect width="{width:g}" height="{CARD_HEIGHT}" rx="10" fill="{GROUND}" stroke="{edge}" stroke-width="2"/>',
        seat_mark(seat, 26, 36, 14),
        words(50, 22, f"seat {seat}{' (you)' if seat == scene.seat else ''}", 14, TEXT, 700),
        words(width - 12, 22, condition(body) if body else "", 13, WARM, 400, "end"),
        *(_bars(body) if body else [words(50, 46, fate(scene, seat), 13, FAINT)]),
        words(width - 12, 60, f"place {place:g}" if body and place is not None else "", 13, WARM, 400, "end"),
        "</g>",
    ]


def _bars(body: Body) -> list[str]:
    lines = [
        _bar(32, body.hp, HURT if body.hp < 0.3 else COLORS[body.seat]),
        words(186, 40, f"{100 * body.hp:.0f} hp", 12, TEXT),
    ]
    if body.energy is not None:
        lines += [_bar(46, body.energy, "#8fb8ff"), words(186, 54, f"{100 * body.energy:.0f}", 12, FAINT)]
        lines.append(words(50, 66, f"{body.ammunition} shots", 11, FAINT))
    return lines


def _bar(top: float, part: float, fill: str) -> str:
    return (
        f'<g><rect x="50" y="{top:g}" width="{BAR}" height="8" rx="4" fill="{NIGHT}"/>'
        f'<rect x="50" y="{top:g}" width="{number(BAR * part)}" height="8" rx="4" fill="{fill}"/></g>'
    )
