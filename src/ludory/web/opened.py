"""Games that pages open by an id: tables `t-...`, recorded games `g-...`, and pasted ones `s-...`, which are kept in files.

What viewers show, `b-...`, has no positions to open; `/watch` draws it from what the file tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ludory.errors import DataError, UnknownIdError
from ludory.visible import visible

from .kept import KeptTexts

if TYPE_CHECKING:
    from ludory.data.replay import Replay

    from .app import Surroundings

MOST_MOVES = 5_000
"""Longest game that pages show."""


@dataclass(frozen=True, slots=True)
class OpenedGame:
    """A game and who may see what of it."""

    id: str
    replay: Replay
    limited_to: int | None
    """The seat whose knowledge may be shown; None: everything."""
    growing: bool
    """Whether the game goes on."""
    address: str
    """Page that it comes from; "" if there is none."""

    def view(self, asked: int | None) -> int | None:
        """The view to show to somebody who asked for that of a seat, or for everything (None)."""
        return asked if self.limited_to is None else self.limited_to


def pasted_games(around: Surroundings) -> KeptTexts:
    """Pasted games, as the texts of replay files."""
    missing = "There is no such game. Paste its replay on the page of the analysis once more."
    return KeptTexts(around.settings.tables / "pasted", "s", missing)


def open_game(around: Surroundings, id: str, own_seats: object) -> OpenedGame:
    """The game of an id.

    Args:
        around: of the server.
        id: t-<table>, g-<recorded game> or s-<pasted game>.
        own_seats: `own_seats(table)`: the seats of a table that the visitor plays.

    Raises:
        UnknownIdError: there is no such game.
        DataError: the game is too long, or hides from the visitor what is needed to show it.
    """
    kind = id.partition("-")[0]
    if kind == "t":
        opened = _opened_table(around, id, own_seats)
    elif kind == "s":
        from ludory.data.replay import read_replay

        opened = OpenedGame(id, read_replay(pasted_games(around).file(id)), None, False, "")
    elif kind == "g":
        from .recorded import find_game

        opened = OpenedGame(id, find_game(around.settings, id), None, False, "/games")
    elif kind == "b":
        raise DataError(
            "A recording of this kind can be watched, not analysed: it does not say what else was possible. "
            f"Its page is /watch/{visible(id)[:40]}."
        )
    else:
        raise UnknownIdError("There is no such game. Tables and recorded games have links to their analysis.")
    if len(opened.replay.moves) > MOST_MOVES:
        raise DataError(f"this game has {len(opened.replay.moves):,} moves; pages show games of at most {MOST_MOVES:,}")
    return opened


def _opened_table(around: Surroundings, id: str, own_seats: Any) -> OpenedGame:
    table = around.tables.get(id.removeprefix("t-"))
    # both of one moment: agents may move in between
    with table.lock:
        position = around.tables.position(table)
        replay, over = around.tables.replay(table), position.over
    limited = None
    if not over and position.game.facts.hidden_information and table.humans:
        own = own_seats(table)
        if not own:
            raise DataError("This game hides cards, so only its players may analyse it before its end.")
        # the seat that has to choose comes first
        deciding = [seat for seat in position.deciding() if seat in own]
        limited = (deciding or own)[0]
    return OpenedGame(id, replay, limited, not over, f"/table/{table.id}")
