"""Rows of a table of recorded games, and which of them to show in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["set", "replays", "battles"]
"""A set of `ludory record`, replay files, or logs of Pokémon battles."""
Sort = Literal["row", "score", "length"]


class GameRow(NamedTuple):
    """One recorded game."""

    row: int
    """Its place in the set, or in the list of the folder's replays or battles."""
    name: str
    """Id of the game in the set, name of the replay's file, or id of the battle."""
    game: str
    """Id of the game, or format of the battle."""
    agents: tuple[str, ...]
    """By seat; empty if unknown."""
    returns: tuple[float, ...]
    """By seat."""
    moves: int
    """Moves of a game in turns, steps of a game in which all move at once, turns of a battle."""
    finished: bool


class GameFilter(NamedTuple):
    """Which games to list, and in which order."""

    agent: str = ""
    """Part of the name of an agent, in any seat."""
    seat: int = 0
    """Whose return is the score."""
    low: float | None = None
    """Least score."""
    high: float | None = None
    """Largest score."""
    shortest: int | None = None
    longest: int | None = None
    sort: Sort = "row"
    descending: bool = False


class GamePage(NamedTuple):
    """Some of the games that a filter keeps."""

    rows: list[GameRow]
    found: int
    """Games that the filter keeps."""
    total: int
    """Games that are listed in all."""


def kept_rows(rows: Iterable[GameRow], chosen: GameFilter) -> list[GameRow]:
    """The rows that a filter keeps, in its order."""
    kept = [
        one
        for one in rows
        if chosen.seat < len(one.returns)
        and _within(one.returns[chosen.seat], chosen.low, chosen.high)
        and _within(one.moves, chosen.shortest, chosen.longest)
        and any(chosen.agent.lower() in name.lower() for name in one.agents)
    ]
    keys = {"row": lambda one: one.row, "score": lambda one: one.returns[chosen.seat], "length": lambda one: one.moves}
    return sorted(kept, key=keys[chosen.sort], reverse=chosen.descending)


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
