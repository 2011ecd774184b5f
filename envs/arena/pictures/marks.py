"""The marks of the arena's SVG pictures, in units: bodies, shots, mines, crates. Colours after Okabe and Ito, "Color Universal Design" (2008)."""

from __future__ import annotations

import math

from ludory.envs.arena.constants import BODY, HEALTH, MINE_RANGE, NOVA_RANGE, UNIT_LENGTH
from ludory.envs.arena.observe.scene import Body, Shot

NIGHT, GROUND, DANGER, LINE = "#0d1630", "#1b2a52", "#3a1d2e", "#5a6ca3"
TEXT, FAINT, WARM, INK, HURT = "#eef2fd", "#a3b1d6", "#ffd166", "#101a30", "#ff6b6b"
COLORS = ("#e69f00", "#56b4e9", "#2fc08f", "#f080c0", "#f0e442", "#ff7043", "#ffffff", "#9aa5ff")
SHAPES = (
    "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z",
    "M-.86-.86H.86V.86H-.86Z",
    "M0-1.15L1.05.75H-1.05Z",
    "M0-1.15L1.1 0L0 1.15L-1.1 0Z",
    "M-.4-1H.4V-.4H1V.4H.4V1H-.4V.4H-1V-.4H-.4Z",
    "M-.55-.95H.55L1.1 0L.55.95H-.55L-1.1 0Z",
    "M0-1.2L.34-.4L1.15-.37L.5.14L.72.97L0 .5L-.72.97L-.5.14L-1.15-.37L-.34-.4Z",
    "M0 1.15L-1.05-.75H1.05Z",
)
"""Circle, square, triangle, diamond, cross, hexagon, star, triangle on its point: one for each seat, within about 1 of the centre."""
RADIUS = BODY / UNIT_LENGTH


def number(value: float) -> str:
    """A coordinate to two places."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def definitions(wall: float) -> str:
    """Definitions of the seats' shapes and of the wall's outline."""
    shapes = "".join(f'<path id="arena-seat-{seat}" d="{path}"/>' for seat, path in enumerate(SHAPES))
    return f'{shapes}<clipPath id="arena-wall"><circle r="{number(wall)}"/></clipPath>'


def seat_mark(seat: int, x: float, y: float, radius: float) -> str:
    """The shape of a seat with its digit."""
    return (
        f'<g transform="translate({number(x)} {number(y)}) scale({radius:.3g})">'
        f'<use href="#arena-seat-{seat}" fill="{COLORS[seat]}" stroke="{INK}" stroke-width=".12"/>'
        f'<text y=".38" font-size="1.05" font-weight="800" text-anchor="middle" fill="{INK}">{seat}</text></g>'
    )


def body_marks(body: Body) -> list[str]:
    """A body and everything visible about it."""
    x, y, color = number(body.x), number(body.y), COLORS[body.seat]
    lines = []
    if body.windup:
        lines.append(
            _ring(x, y, NOVA_RANGE / UNIT_LENGTH, HURT, ".08", 'stroke-dasharray=".35 .25" fill-opacity=".12"')
        )
        lines.append(_ring(x, y, body.windup * NOVA_RANGE / UNIT_LENGTH, HURT, ".1", 'fill-opacity=".12"'))
    tip = body.x + 1.3 * body.facing[0], body.y + 1.3 * body.facing[1]
    lines.append(
        f'<path d="M{x} {y}L{number(tip[0])} {number(tip[1])}" stroke="{color}" stroke-width=".18" stroke-linecap="round"/>'
    )
    if body.dash:
        lines.append(_ring(x, y, 0.95, color, ".12", 'fill-opacity="0" stroke-dasharray=".12 .3"'))
    lines.append(seat_mark(body.seat, body.x, body.y, RADIUS))
    if body.shield:
        lines.append(
            f'<path transform="translate({x} {y})" d="M-.45-.95A1.05 1.05 0 0 0-.45.95M.45-.95A1.05 1.05 0 0 1 .45.95" fill="none" stroke="{TEXT}" stroke-width=".2" stroke-linecap="round"/>'
        )
    if body.stun:
        lines.append(
            f'<path transform="translate({x} {y})" d="M-.8 1.05l.32-.3l.32.3l.32-.3l.32.3l.32-.3" fill="none" stroke="{WARM}" stroke-width=".16" stroke-linecap="round" stroke-linejoin="round"/>'
        )
    if body.channel:
        lines.append(_arc(body.x, body.y, 1.0, body.channel))
    lines.append(_health_bar(body))
    return lines


def _ring(x: str, y: str, radius: float, color: str, width: str, extra: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="{number(radius)}" fill="{color}" stroke="{color}" stroke-width="{width}" {extra}/>'


def _arc(x: float, y: float, radius: float, part: float) -> str:
    """Part of a circle, from the top, clockwise."""
    angle = 2 * math.pi * min(part, 0.999)
    end = x + radius * math.sin(angle), y - radius * math.cos(angle)
    large = 1 if part > 0.5 else 0
    return (
        f'<path d="M{number(x)} {number(y - radius)}A{radius:g} {radius:g} 0 {large} 1 {number(end[0])} {number(end[1])}" '
        f'fill="none" stroke="{WARM}" stroke-width=".18"/>'
    )


def _health_bar(body: Body) -> str:
    color = HURT if body.hp < 0.3 else COLORS[body.seat]
    return (
        f'<g transform="translate({number(body.x)} {number(body.y - 1.3)})"><rect x="-.8" width="1.6" height=".2" rx=".1" fill="{INK}"/>'
        f'<rect x="-.8" width="{number(1.6 * body.hp)}" height=".2" rx=".1" fill="{color}"/></g>'
    )


def shot_mark(shot: Shot) -> str:
    """A shot with its path of the last tick."""
    x, y, color = number(shot.x), number(shot.y), COLORS[shot.owner]
    tail = number(shot.x - 0.8 * shot.step[0]), number(shot.y - 0.8 * shot.step[1])
    return (
        f'<g><path d="M{tail[0]} {tail[1]}L{x} {y}" stroke="{color}" stroke-width=".12" stroke-opacity=".6" stroke-linecap="round"/>'
        f'<circle cx="{x}" cy="{y}" r=".2" fill="{color}"/></g>'
    )


def mine_mark(owner: int, x: float, y: float) -> str:
    """A mine: a cross in its owner's colour, and its range."""
    color, reach = COLORS[owner], number(MINE_RANGE / UNIT_LENGTH)
    return (
        f'<g transform="translate({number(x)} {number(y)})"><circle r="{reach}" fill="{color}" fill-opacity=".07" stroke="{color}" '
        f'stroke-opacity=".5" stroke-width=".05" stroke-dasharray=".2 .2"/>'
        f'<path d="M-.32-.32L.32.32M.32-.32L-.32.32" stroke="{color}" stroke-width=".16" stroke-linecap="round"/></g>'
    )


def crate_mark(x: float, y: float, kind: int) -> str:
    """A crate: plus for health, equals for supply."""
    sign = "M0-.3V.3M-.3 0H.3" if kind == HEALTH else "M-.3-.14H.3M-.3.14H.3"
    color = "#7fe0a7" if kind == HEALTH else "#9fd0ff"
    return (
        f'<g transform="translate({number(x)} {number(y)})"><rect x="-.5" y="-.5" width="1" height="1" rx=".15" fill="{INK}" '
        f'stroke="{color}" stroke-width=".1"/><path d="{sign}" stroke="{color}" stroke-width=".15" stroke-linecap="round"/></g>'
    )
