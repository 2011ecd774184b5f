"""The game of recordings whose rules are not installed: it has the facts that a learner needs, and cannot be played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NoReturn, Protocol

from ludory.errors import PluginError
from ludory.plugins import games

from .facts import GameFacts, Head, ObservationSpec
from .game import Game
from .parts import Look, Records, Rules

TOLD = ("observation", "heads", "players")
"""Facts that are attributes of every header, also of old ones."""
UNKNOWN = {
    "turns": "sequential",
    "reward": "general",
    "hidden_information": True,
    "chance": True,
    "longest_game": 2**31 - 1,
    "min_return": float("-inf"),
    "max_return": float("inf"),
}
"""Facts to assume where a header does not have them: those that promise least."""


class RecordedHeader(Protocol):
    """What the header of recorded games says about the game; `ludory.data.header.TrajectoryHeader` is one."""

    @property
    def game(self) -> str:
        """Its id."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Of `make_game`."""

    @property
    def observation(self) -> ObservationSpec:
        """What a seat saw."""

    @property
    def heads(self) -> tuple[Head, ...]:
        """What it chose among."""

    @property
    def players(self) -> int:
        """Number of seats."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """The result of `told_facts`; recordings of earlier versions have none."""

    @property
    def package(self) -> str:
        """Package to install for the rules, such as "ludory-nim==0.1.0"; "" if unknown."""


def told_facts(facts: GameFacts) -> dict[str, Any]:
    """Facts of a game as JSON values, without those in `TOLD` and without the spec of the critic."""
    left_out = (*TOLD, "critic")
    told = {one.name: getattr(facts, one.name) for one in fields(facts) if one.name not in left_out}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}
    return {name: value for name, value in plain.items() if value not in (float("inf"), float("-inf"))}


def game_of_header(told: RecordedHeader) -> Game:
    """A game with the facts of a header. Making an engine of it raises a PluginError that says what to install."""
    known = {one.name for one in fields(GameFacts)} - {*TOLD, "critic"}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in told.facts.items()}
    every: dict[str, Any] = {
        "name": told.game,
        **UNKNOWN,
        **{name: value for name, value in given.items() if name in known},
    }
    facts = GameFacts(**every, observation=told.observation, heads=told.heads, players=told.players)

    def missing(*_: Any, **__: Any) -> NoReturn:
        raise PluginError(missing_rules(told))

    return Game(
        facts,
        Rules(engine=missing),
        look=Look(action_name=lambda head, value: f"{told.heads[head].name} {value}"),
        id=told.game,
        options=dict(told.options),
        records=Records(header=told),
    )


def missing_rules(told: RecordedHeader) -> str:
    """Error message: how to make the game of a header playable."""
    cure = f'type: pip install "{told.package}"' if told.package else "install the package that brings it"
    return f"{told.game} is known from recorded games only, its rules are not installed, so it cannot be played; {cure}"


def package_of(game: Game) -> str:
    """Package to install for a game, "" for Ludory's own games and if unknown."""
    if game.records.header is not None:
        return str(game.records.header.package)
    return games.package_of(game.id) if game.id in games.ids() else ""
