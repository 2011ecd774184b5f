"""One tick of a recorder file, checked and reduced to 19 features: the arena's observation `seed19`, in its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.data.formats.json_fields import boolean, count, finite, inner, items, mapping, point, text

FEATURES = (
    "self_x",
    "self_y",
    "velocity_x",
    "velocity_y",
    "hp",
    "ammo",
    "zone_x",
    "zone_y",
    "zone_radius",
    "zone_is_safe",
    "enemy_x",
    "enemy_y",
    "enemy_hp",
    "item_x",
    "item_y",
    "entities",
    "items",
    "enemy_distance",
    "item_distance",
)
Pick = Literal["first", "nearest"]
SAME = 1e-12
"""Relative difference up to which squared distances count as equal."""


class Seen(NamedTuple):
    """One tick of a recorder's observation."""

    tick_id: int | None
    features: NDArray[np.float32]
    cooldowns: dict[str, float]
    unknown: dict[str, Any]
    """Values that no feature uses, by the path of their key."""


class _Thing(NamedTuple):
    x: float
    y: float
    type: str
    hp: float


def read_observation(value: object, pick: Pick) -> Seen:
    """Check an observation and compute its features.

    Args:
        value: the observation as parsed from the file.
        pick: which enemy (or other entity, if there is no enemy) and which item the features describe.

    Raises:
        FieldError: a field is missing, has another type, or is NaN or infinite.
    """
    seen = mapping(value, "observation")
    unknown: dict[str, Any] = {}
    known = ("self_state", "zone_state", "tick_id", "visible_entities", "visible_items")
    _keep(unknown, "observation", seen, known)
    own = _part(seen, "self_state", ("position", "velocity", "hp", "cooldowns", "ammo"), unknown)
    zone = _part(seen, "zone_state", ("position", "radius", "is_safe"), unknown)
    x, y = point(inner(own, "position"), "observation.self_state.position")
    entities = _things(seen, "visible_entities", unknown, with_hp=True)
    crates = _things(seen, "visible_items", unknown, with_hp=False)
    enemy = _chosen([one for one in entities if one.type == "enemy"] or entities, pick, x, y)
    item = _chosen(crates, pick, x, y)
    values = (
        x,
        y,
        *point(inner(own, "velocity"), "observation.self_state.velocity"),
        finite(inner(own, "hp"), "observation.self_state.hp"),
        finite(inner(own, "ammo"), "observation.self_state.ammo"),
        *point(inner(zone, "position"), "observation.zone_state.position"),
        finite(inner(zone, "radius"), "observation.zone_state.radius"),
        float(boolean(inner(zone, "is_safe"), "observation.zone_state.is_safe")),
        *((0.0, 0.0, 0.0) if enemy is None else (enemy.x, enemy.y, enemy.hp)),
        *((0.0, 0.0) if item is None else (item.x, item.y)),
        float(len(entities)),
        float(len(crates)),
        0.0 if enemy is None else hypot(enemy.x - x, enemy.y - y),
        0.0 if item is None else hypot(item.x - x, item.y - y),
    )
    cooldowns = mapping(inner(own, "cooldowns"), "observation.self_state.cooldowns")
    return Seen(
        count(seen["tick_id"], "observation.tick_id") if "tick_id" in seen else None,
        np.array(values, np.float32),
        {name: finite(one, f"observation.self_state.cooldowns.{name}") for name, one in cooldowns.items()},
        unknown,
    )


def _part(seen: Mapping[str, Any], name: str, known: Sequence[str], unknown: dict[str, Any]) -> dict[str, Any]:
    path = f"observation.{name}"
    part = mapping(inner(seen, name), path)
    _keep(unknown, path, part, known)
    return part


def _keep(unknown: dict[str, Any], path: str, content: Mapping[str, Any], known: Sequence[str]) -> None:
    unknown.update({f"{path}.{name}": value for name, value in content.items() if name not in known})


def _things(seen: Mapping[str, Any], name: str, unknown: dict[str, Any], with_hp: bool) -> list[_Thing]:
    path, things = f"observation.{name}", []
    for number, value in enumerate(items(inner(seen, name), path)):
        place = f"{path}[{number}]"
        thing = mapping(value, place)
        _keep(unknown, place, thing, ("id", "position", "type", *(("hp",) if with_hp else ())))
        x, y = point(inner(thing, "position"), f"{place}.position")
        kind = text(inner(thing, "type"), f"{place}.type")
        hp = thing.get("hp") if with_hp else None
        things.append(_Thing(x, y, kind, 0.0 if hp is None else finite(hp, f"{place}.hp")))
    return things


def _chosen(things: Sequence[_Thing], pick: Pick, x: float, y: float) -> _Thing | None:
    if pick == "first" or not things:
        return things[0] if things else None
    away = [(one.x - x) ** 2 + (one.y - y) ** 2 for one in things]
    return things[next(k for k, one in enumerate(away) if one <= min(away) * (1 + SAME))]
