"""Lines of Mega Evolution, Z-moves, Dynamax and Terastallization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab import numbers
from . import layout as at
from .handlers import line

if TYPE_CHECKING:
    from .tracker import Tracker

_TYPES = numbers("types")


def spend(tracker: Tracker, side: int, gimmick: int) -> None:
    """A side has used a gimmick, by its place in `GIMMICKS`."""
    tracker.values[at.SPENT + 4 * side + gimmick] = 1
    if side == 0:
        tracker.values[at.OFFERED + gimmick] = 0


@line("-mega", "-burst")
def mega(tracker: Tracker, parts: list[str]) -> None:
    """`|-mega|POKEMON|SPECIES|MEGASTONE` and `|-burst|POKEMON|SPECIES|ITEM`."""
    row = tracker.row(parts[2])
    spend(tracker, int(row >= 6), 0)
    tracker.values[row * at.ROW + at.GIMMICK] = 1
    if len(parts) > 4 and parts[4]:
        tracker.set_item(row, parts[4])


@line("-primal")
def primal(tracker: Tracker, parts: list[str]) -> None:
    """`|-primal|POKEMON|ITEM`."""
    if len(parts) > 3 and parts[3]:
        tracker.set_item(tracker.row(parts[2]), parts[3])


@line("-zpower")
def z_power(tracker: Tracker, parts: list[str]) -> None:
    """`|-zpower|POKEMON`."""
    spend(tracker, int(tracker.row(parts[2]) >= 6), 1)


@line("-terastallize")
def terastallize(tracker: Tracker, parts: list[str]) -> None:
    """`|-terastallize|POKEMON|TYPE`."""
    row = tracker.row(parts[2])
    start, values = row * at.ROW, tracker.values
    number = _TYPES[parts[3]]
    if not number:
        raise ValueError(f"no type is called {parts[3]!r}")
    spend(tracker, int(row >= 6), 3)
    values[start + at.TERA], values[start + at.TERASTALLIZED] = number, 1
    tracker.set_species(row, values[start + at.SPECIES])
