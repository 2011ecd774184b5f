"""`Tracker`: reads a battle line by line (sim/SIM-PROTOCOL.md of smogon/pokemon-showdown), keeps what one seat, or a spectator, knows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ....errors import BattleLineError, OptionError
from ..vocab import numbers
from . import field, gimmicks, moves, reveals, stats, switches, volatiles  # noqa: F401  # they register what lines do
from . import layout as at
from .handlers import HANDLERS, line
from .requests import RequestRows
from .state import BattleState, battle_state

if TYPE_CHECKING:
    pass


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


class Tracker(RequestRows):
    """What is known of a battle after the lines so far.

    Rows 0-5 are the own team by fixed slot, rows 6-11 the foe's by order of preview or appearance; without requests both go by
    appearance. A spectator's own side is p1's.

    Args:
        gen: generation, 1 to 9.
        perspective: 0 for p1, 1 for p2, None for a spectator.
        strict: an unknown or malformed line is an error; otherwise it is kept in `unknown`.
        slot_order: "alpha" sorts known moves and menus by move id instead of request and appearance.
        own_moves: moves of the own Pokémon by nickname, for logs without requests whose labels count moves that are seen later.

    Raises:
        OptionError: the generation or perspective does not exist.
    """

    def __init__(
        self,
        gen: int,
        perspective: int | None,
        strict: bool = False,
        slot_order: str = "request",
        own_moves: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if perspective not in (0, 1, None):
            raise OptionError(f"perspective must be 0 (p1), 1 (p2) or None (a spectator), got {perspective!r}")
        super().__init__(gen, perspective, slot_order)
        self.strict = strict
        self.own_moves = own_moves or {}
        self.unknown: list[str] = []
        """Lines that could not be read."""
        self.recent: list[str] = []
        """Lines since the last turn began, for pictures."""
        self.players = ["", ""]
        """Names of the own side and the foe."""
        self.winner: str | None = None
        """Name of the winner, "" after a tie, None while the battle goes on."""
        self.passing = [0, 0]
        """Number of the move by which the active Pokémon hands on its conditions."""

    # Reading.

    def feed(self, line: str) -> None:
        """Read one line: of the protocol, or `R{"request": .., "order": [..]}`.

        Raises:
            BattleLineError: the line is unknown or malformed, under `strict`.
        """
        if not line.startswith("|"):
            self._other_line(line)
            return
        parts = line.split("|")
        handler = HANDLERS.get(parts[1])
        if handler is None:
            self._reject(line, "no such kind of line")
            return
        try:
            handler(self, parts)
        except (IndexError, KeyError, ValueError, OverflowError) as error:
            self._reject(line, f"malformed ({error})")
            return
        self.recent.append(line)

    def feed_all(self, lines: Iterable[str]) -> None:
        """Read lines one after the other."""
        for text in lines:
            self.feed(text)

    def _other_line(self, line: str) -> None:
        """A request, or text outside of the protocol, which the protocol says to show as it is."""
        if line.startswith("R{"):
            try:
                asked = json.loads(line[1:])
                self.request(asked["request"], asked["order"])
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                self._reject(line, f"malformed request ({error})")

    def _reject(self, line: str, why: str) -> None:
        if self.strict:
            raise BattleLineError(
                f"cannot read the line {line[:200]!r} of a battle: {why}; strict=False keeps it in `unknown`"
            )
        self.unknown.append(line)

    def snapshot(self) -> BattleState:
        """Everything that is known now, as immutable values."""
        return battle_state(self)

    def copy(self) -> Tracker:
        """An independent tracker with the same knowledge."""
        other = Tracker(self.gen, self.perspective, self.strict, self.slot_order, self.own_moves)
        other.values[:] = self.values
        for name in (
            "unknown",
            "recent",
            "players",
            "nicknames",
            "details",
            "_conditions",
            "_requested",
            "counts",
            "before",
            "passing",
        ):
            setattr(other, name, list(getattr(self, name)))
        other.others = [set(names) for names in self.others]
        other.winner, other.bound, other.fifth_moves = self.winner, self.bound, self.fifth_moves
        return other
