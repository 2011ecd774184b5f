"""What a seat of the arena sees, as a recorder writes it: all rivals and crates in sight, the nearest first."""

from __future__ import annotations

from typing import Any

from ludory.envs.arena.constants import TICKS, UNIT_LENGTH, VISION
from ludory.envs.game import State

TIMERS = ("fire", "dash", "shield", "nova", "mine")
KINDS = ("health_pack", "ammo_crate")
"""By the crate's index modulo 2."""
POINTS = 100
"""Of the state's hit points in one."""


def scene(state: State, i: int, seat: int) -> dict[str, Any]:
    """The observation of a seat in game i, plain values copied out of the state.

    Units of length, units per second, hit points 0..100, seconds; numbers are those of the observation `seed19` before they are rounded.
    """
    x, y = int(state.x[i, seat]), int(state.y[i, seat])
    tick, radius = int(state.t[i]), int(state.zone_radius[i])
    zone_x, zone_y = int(state.zone_x[i]), int(state.zone_y[i])
    return {
        "self_state": {
            "position": _units(x, y),
            "velocity": [int(state.vx[i, seat]) * TICKS / UNIT_LENGTH, int(state.vy[i, seat]) * TICKS / UNIT_LENGTH],
            "hp": int(state.hp[i, seat]) / POINTS,
            "cooldowns": {name: int(state.cooldown[i, seat, column]) / TICKS for column, name in enumerate(TIMERS)},
            "ammo": int(state.ammunition[i, seat]),
        },
        "zone_state": {
            "position": _units(zone_x, zone_y),
            "radius": radius / UNIT_LENGTH,
            "is_safe": (x - zone_x) ** 2 + (y - zone_y) ** 2 <= radius**2,
        },
        "tick_id": tick,
        "visible_entities": [
            {"id": f"player_{rival}", "position": place, "type": "enemy", "hp": int(state.hp[i, rival]) / POINTS}
            for rival, place in _in_sight(state.x[i], state.y[i], state.alive[i] == 1, x, y)
            if rival != seat
        ],
        "visible_items": [
            {"id": f"crate_{crate}", "position": place, "type": KINDS[crate % len(KINDS)]}
            for crate, place in _in_sight(state.crate_x[i], state.crate_y[i], state.crate_wait[i] == 0, x, y)
        ],
    }


def _units(x: int, y: int) -> list[float]:
    return [x / UNIT_LENGTH, y / UNIT_LENGTH]


def _in_sight(xs: Any, ys: Any, there: Any, x: int, y: int) -> list[tuple[int, list[float]]]:
    """Index and place of what is there and in sight, by distance, then index."""
    places = [(int(a), int(b)) for a, b in zip(xs, ys, strict=True)]
    away = [(a - x) ** 2 + (b - y) ** 2 for a, b in places]
    seen = [k for k in range(len(places)) if bool(there[k]) and away[k] <= VISION**2]
    return [(k, _units(*places[k])) for k in sorted(seen, key=lambda k: (away[k], k))]
