"""Rows of a table of recorded games, and which of them to show in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

__all__ = ["GameRow"]  # for other packages

Kind = str
"""What a folder holds: "set", a set of `ludory record`; "replays", files of replays; or the id of a viewer, whose files they are."""
Sort = Literal["row", "score", "length"]


class GameRow(NamedTuple):
    """One recorded game."""

    row: int
    """Its place in the set, or in the list of the folder's games."""
    name: str
    """Id of the game in the set, name of the replay's file, or the name that a viewer gives."""
    game: str
    """Id of the game, or what a viewer calls its rules."""
    agents: tuple[str, ...]
    """By seat; empty if unknown."""
    returns: tuple[float, ...]
    """By seat."""
    moves: int
    """Moves of a game in turns, steps of a game in which all move at once, or what a viewer counts."""
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
        and (not chosen.agent or any(chosen.agent.lower() in name.lower() for name in one.agents))
    ]
    keys = {"row": lambda one: one.row, "score": lambda one: one.returns[chosen.seat], "length": lambda one: one.moves}
    return sorted(kept, key=keys[chosen.sort], reverse=chosen.descending)


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
