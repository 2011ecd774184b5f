"""What every kind of line of the battle protocol (sim/SIM-PROTOCOL.md of smogon/pokemon-showdown) does to a tracker.

The start, turns and the end stand here; importing the other modules registers the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocab import numbers
from . import field, gimmicks, moves, reveals, stats, switches, volatiles  # noqa: F401
from . import layout as at
from .handlers import HANDLERS, line

if TYPE_CHECKING:
    from .tracker import Tracker

__all__ = ["HANDLERS"]

_STATUSES = numbers("statuses")
_ASLEEP, _TOXIC = _STATUSES["slp"], _STATUSES["tox"]


@line("player")
def player(tracker: Tracker, parts: list[str]) -> None:
    """`|player|p1|NAME|AVATAR|RATING`."""
    if len(parts) > 3 and parts[3]:
        tracker.players[tracker.side(parts[2])] = parts[3]


@line("teamsize")
def team_size(tracker: Tracker, parts: list[str]) -> None:
    """`|teamsize|p1|6`: so many Pokémon exist."""
    side, size = tracker.side(parts[2]), int(parts[3])
    if not 1 <= size <= 6:
        raise ValueError(f"{size} Pokémon")
    tracker.values[at.TEAM_SIZE + side] = size
    for k in range(6):
        # slots beyond the size do not exist; those within are unknown
        tracker.values[(6 * side + k) * at.ROW + at.EXISTS] = k < size


@line("poke")
def poke(tracker: Tracker, parts: list[str]) -> None:
    """`|poke|p1|DETAILS|ITEM`: shown in the team preview."""
    side = tracker.side(parts[2])
    if tracker.counts[side] >= 6:
        raise ValueError("a seventh Pokémon")
    row = 6 * side + tracker.counts[side]
    tracker.counts[side] += 1
    tracker.set_details(row, parts[3])
    tracker.values[row * at.ROW + at.SEEN] = 1


@line("teampreview")
def team_preview(tracker: Tracker, parts: list[str]) -> None:
    """`|teampreview`."""
    tracker.values[at.PREVIEW] = 1


@line("win")
def win(tracker: Tracker, parts: list[str]) -> None:
    """`|win|NAME`."""
    tracker.winner = parts[2]


@line("tie")
def tie(tracker: Tracker, parts: list[str]) -> None:
    """`|tie`."""
    tracker.winner = ""


@line("turn")
def turn(tracker: Tracker, parts: list[str]) -> None:
    """`|turn|3`."""
    tracker.values[at.TURN] = int(parts[2])
    tracker.values[at.PREVIEW] = 0
    # Baton Pass ends with the turn in which it was used
    tracker.passing[0] = tracker.passing[1] = 0
    tracker.recent.clear()


@line("upkeep")
def upkeep(tracker: Tracker, parts: list[str]) -> None:
    """`|upkeep`: the end of a turn, after damage by weather, status and the like and before fallen Pokémon are replaced."""
    values = tracker.values
    if values[at.WEATHER]:
        values[at.WEATHER_TURNS] += 1
    if values[at.TERRAIN]:
        values[at.TERRAIN_TURNS] += 1
    for side in (0, 1):
        start = values[at.ACTIVE_ROW + side] * at.ROW
        if start >= 0 and not values[start + at.FAINTED]:
            values[start + at.FIELD_TURNS] += 1
            # sleep is counted by the turns that it costs, see `cannot`
            if values[start + at.STATUS] > 1 and values[start + at.STATUS] != _ASLEEP:
                values[start + at.STATUS_TURNS] += 1
                # damage by bad poison stops growing at 15/16
                if values[start + at.STATUS] == _TOXIC and values[start + at.STATUS_TURNS] > 15:
                    values[start + at.STATUS_TURNS] = 15
        wish = at.SIDE + side * at.SIDE_SIZE + at.WISH
        if values[wish]:
            values[wish] -= 1
