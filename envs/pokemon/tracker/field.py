"""Lines of weather, terrain, rooms and the conditions of a side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import layout as at
from .handlers import effect, line
from .reveals import reveal

if TYPE_CHECKING:
    from .tracker import Tracker

_SIDE_CONDITION = {name: k for k, name in enumerate(at.SIDE_CONDITIONS)}
_WEATHER = {name: k for k, name in enumerate(at.WEATHERS)} | {"snow": at.WEATHERS.index("snowscape")}
_TERRAIN = {name: k for k, name in enumerate(at.TERRAINS)}
_SWAPPED = (*range(10), at.OTHER_SIDE)
"""Side conditions that Court Change swaps."""


@line("-weather")
def weather(tracker: Tracker, parts: list[str]) -> None:
    """`|-weather|WEATHER|[upkeep]`."""
    number = _WEATHER[effect(parts[2])]
    if tracker.values[at.WEATHER] != number or (len(parts) > 3 and parts[3] != "[upkeep]"):
        tracker.values[at.WEATHER] = number
        tracker.values[at.WEATHER_TURNS] = 0
    if len(parts) > 4:
        reveal(tracker, parts, -1, of_owns=True)


@line("-fieldstart")
def field_start(tracker: Tracker, parts: list[str]) -> None:
    """`|-fieldstart|CONDITION`."""
    name = effect(parts[2])
    if name in _TERRAIN:
        tracker.values[at.TERRAIN] = _TERRAIN[name]
        tracker.values[at.TERRAIN_TURNS] = 0
    elif name in at.ROOMS:
        tracker.values[at.ROOM + at.ROOMS.index(name)] = 1
    if len(parts) > 4 and parts[3].startswith("[from] ability"):
        reveal(tracker, parts, -1, of_owns=True)


@line("-fieldend")
def field_end(tracker: Tracker, parts: list[str]) -> None:
    """`|-fieldend|CONDITION`."""
    name = effect(parts[2])
    if name in _TERRAIN:
        tracker.values[at.TERRAIN] = tracker.values[at.TERRAIN_TURNS] = 0
    elif name in at.ROOMS:
        tracker.values[at.ROOM + at.ROOMS.index(name)] = 0


@line("-fieldactivate")
def field_activate(tracker: Tracker, parts: list[str]) -> None:
    """`|-fieldactivate|CONDITION`: Perish Song starts counts by lines of its own."""


@line("-sidestart")
def side_start(tracker: Tracker, parts: list[str]) -> None:
    """`|-sidestart|SIDE|CONDITION`; a second one is a second layer."""
    side, name = tracker.side(parts[2]), effect(parts[3])
    start = at.SIDE + side * at.SIDE_SIZE
    place = _SIDE_CONDITION.get(name)
    if place is None:
        tracker.others[2 + side].add(name)
        tracker.values[start + at.OTHER_SIDE] = 1
    else:
        tracker.values[start + place] = min(at.LAYERS.get(name, 1), tracker.values[start + place] + 1)


@line("-sideend")
def side_end(tracker: Tracker, parts: list[str]) -> None:
    """`|-sideend|SIDE|CONDITION`."""
    side, name = tracker.side(parts[2]), effect(parts[3])
    start = at.SIDE + side * at.SIDE_SIZE
    place = _SIDE_CONDITION.get(name)
    if place is None:
        tracker.others[2 + side].discard(name)
        tracker.values[start + at.OTHER_SIDE] = bool(tracker.others[2 + side])
    else:
        tracker.values[start + place] = 0


@line("-swapsideconditions")
def swap_side_conditions(tracker: Tracker, parts: list[str]) -> None:
    """`|-swapsideconditions`: Court Change."""
    values = tracker.values
    for k in _SWAPPED:
        one, two = at.SIDE + k, at.SIDE + at.SIDE_SIZE + k
        values[one], values[two] = values[two], values[one]
    tracker.others[2], tracker.others[3] = tracker.others[3], tracker.others[2]
