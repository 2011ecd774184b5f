"""Lines of hp, status and stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab import numbers
from . import layout as at
from .handlers import effect, line
from .reveals import reveal

if TYPE_CHECKING:
    from .tracker import Tracker

_STATUSES = numbers("statuses")
_ASLEEP = _STATUSES["slp"]
_STAGE = {name: at.STAGES + k for k, name in enumerate(("atk", "def", "spa", "spd", "spe", "accuracy", "evasion"))}


@line("-damage", "-sethp")
def damage(tracker: Tracker, parts: list[str]) -> None:
    """`|-damage|POKEMON|HP STATUS`."""
    row = tracker.row(parts[2])
    tracker.set_condition(row, parts[3])
    if len(parts) > 4:
        reveal(tracker, parts, row, of_owns=True)


@line("-heal")
def heal(tracker: Tracker, parts: list[str]) -> None:
    """`|-heal|POKEMON|HP STATUS`."""
    row = tracker.row(parts[2])
    tracker.set_condition(row, parts[3])
    if len(parts) > 4:
        reveal(tracker, parts, row)
        cause = effect(parts[4][6:].strip())
        if cause in ("healingwish", "lunardance"):
            tracker.values[at.SIDE + (row >= 6) * at.SIDE_SIZE + at.HEALING_WISH] = 0
        elif cause == "wish":
            tracker.values[at.SIDE + (row >= 6) * at.SIDE_SIZE + at.WISH] = 0


@line("-status")
def status(tracker: Tracker, parts: list[str]) -> None:
    """`|-status|POKEMON|STATUS`."""
    row = tracker.row(parts[2])
    number = _STATUSES[parts[3]]
    if not number:
        raise ValueError(f"no status is called {parts[3]!r}")
    tracker.set_status(row, 1)
    tracker.set_status(row, number)
    if tracker.gen == 1 and number == _ASLEEP:  # whoever sleeps need not recharge any more
        tracker.values[at.VOLATILE + (row >= 6) * at.VOLATILE_SIZE + at.MUST_RECHARGE] = 0
    if "[from] item: Toxic Orb" in parts:  # it comes after the damage of this turn
        tracker.values[row * at.ROW + at.STATUS_TURNS] = -1
    reveal(tracker, parts, row, of_owns=True)


@line("-curestatus")
def cure_status(tracker: Tracker, parts: list[str]) -> None:
    """`|-curestatus|POKEMON|STATUS`; the Pokémon need not be active."""
    row = tracker.row(parts[2])
    tracker.set_status(row, 1)
    reveal(tracker, parts, row)


@line("-cureteam")
def cure_team(tracker: Tracker, parts: list[str]) -> None:
    """`|-cureteam|POKEMON`: no member of its team has a status any more."""
    side = tracker.side(parts[2])
    for row in range(6 * side, 6 * side + 6):
        tracker.set_status(row, 1)


def _change_stage(tracker: Tracker, parts: list[str], sign: int) -> None:
    row = tracker.row(parts[2])
    place = row * at.ROW + _STAGE[parts[3]]
    value = tracker.values[place] + sign * int(parts[4])
    tracker.values[place] = 6 if value > 6 else -6 if value < -6 else value
    if len(parts) > 5:
        reveal(tracker, parts, row)


@line("-boost")
def boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-boost|POKEMON|STAT|AMOUNT`."""
    _change_stage(tracker, parts, 1)


@line("-unboost")
def unboost(tracker: Tracker, parts: list[str]) -> None:
    """`|-unboost|POKEMON|STAT|AMOUNT`."""
    _change_stage(tracker, parts, -1)


@line("-setboost")
def set_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-setboost|POKEMON|STAT|AMOUNT`."""
    row = tracker.row(parts[2])
    tracker.values[row * at.ROW + _STAGE[parts[3]]] = max(-6, min(6, int(parts[4])))
    reveal(tracker, parts, row)


@line("-swapboost")
def swap_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-swapboost|SOURCE|TARGET|STATS`; all stages if none are named."""
    source, target = tracker.row(parts[2]) * at.ROW, tracker.row(parts[3]) * at.ROW
    named = [] if len(parts) < 5 or parts[4].startswith("[") else [name.strip() for name in parts[4].split(",") if name]
    values = tracker.values
    for place in [_STAGE[name] for name in named] or _STAGE.values():
        values[source + place], values[target + place] = values[target + place], values[source + place]


@line("-copyboost")
def copy_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-copyboost|SOURCE|TARGET`: the first has the stages of the second."""
    source, target = tracker.row(parts[2]) * at.ROW, tracker.row(parts[3]) * at.ROW
    tracker.values[source + at.STAGES : source + at.STAGES + 7] = tracker.values[
        target + at.STAGES : target + at.STAGES + 7
    ]


@line("-invertboost")
def invert_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-invertboost|POKEMON`."""
    start = tracker.row(parts[2]) * at.ROW
    for place in _STAGE.values():
        tracker.values[start + place] = -tracker.values[start + place]


@line("-clearboost")
def clear_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearboost|POKEMON`."""
    start = tracker.row(parts[2]) * at.ROW
    for place in _STAGE.values():
        tracker.values[start + place] = 0


@line("-clearallboost")
def clear_all_boosts(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearallboost`."""
    for side in (0, 1):
        start = tracker.values[at.ACTIVE_ROW + side] * at.ROW
        if start >= 0:
            for place in _STAGE.values():
                tracker.values[start + place] = 0


@line("-clearpositiveboost")
def clear_positive_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearpositiveboost|TARGET|POKEMON|EFFECT`."""
    start = tracker.row(parts[2]) * at.ROW
    for place in _STAGE.values():
        tracker.values[start + place] = min(0, tracker.values[start + place])


@line("-clearnegativeboost")
def clear_negative_boost(tracker: Tracker, parts: list[str]) -> None:
    """`|-clearnegativeboost|POKEMON`."""
    start = tracker.row(parts[2]) * at.ROW
    for place in _STAGE.values():
        tracker.values[start + place] = max(0, tracker.values[start + place])
