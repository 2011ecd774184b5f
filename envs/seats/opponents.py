"""The seat that the policy of a view plays, and the players of the other seats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ludory.envs.facts import GameFacts
from ludory.envs.game import Game
from ludory.errors import OptionError
from ludory.plugins import agents, makers, parse_spec
from ludory.plugins.registry import call

from .player import Player

Seats = Literal["all"] | int | None
Others = str | Player | Sequence[str | Player]


def own_seat(facts: GameFacts, seats: Seats) -> int | None:
    """The seat that the policy plays, None for every seat. `seats=None` means "all" if that is possible, else 0.

    Raises:
        OptionError: invalid seat; or "all", but the seats do not share rewards or move simultaneously.
    """
    shared = facts.reward == "shared" and not facts.simultaneous
    if seats is None:
        return None if shared else 0
    if seats == "all":
        if shared:
            return None
        what = "moves at once" if facts.simultaneous else f"has {facts.reward} rewards"
        raise OptionError(
            f"seats='all': {facts.name} {what}, so one policy cannot play every seat; "
            "give seats=0 and others='<agent>', or use the PettingZoo view (ludory.envs.views.make_aec)"
        )
    if not isinstance(seats, int) or isinstance(seats, bool) or not 0 <= seats < facts.players:
        raise OptionError(f"seats={seats!r}: must be 'all' or a seat 0..{facts.players - 1}")
    return seats


def seat_players(game: Game, own: int, others: Others) -> list[Player | None]:
    """Players in seat order, None at `own`. `others` is one player for all other seats, or P - 1 players in seat order.

    A name makes a separate agent for each seat.

    Raises:
        OptionError: a wrong number of players, or an object that is not a player.
        UnknownIdError, PluginError: as for the registry of agents.
    """
    free = game.facts.players - 1
    names = [others] * free if isinstance(others, str) or not isinstance(others, Sequence) else list(others)
    if len(names) != free:
        raise OptionError(f"others: {len(names)} players, must be one or {free} (a player for every seat but {own})")
    players = [_player(game, name) for name in names]
    return [*players[:own], None, *players[own:]]


def _player(game: Game, name: Any) -> Player:
    if isinstance(name, str):
        return _made(game, name)
    if not callable(getattr(name, "choose", None)):
        raise OptionError(f"others: got {name!r}, must be the name of an agent or an agent")
    player: Player = name
    return player


def _made(game: Game, name: str) -> Player:
    spec = parse_spec(name)
    if spec.checkpoint:
        player: Player = makers.load("agent")(name, game)
        return player
    entry = agents.get(spec.name)
    made: Any = call(entry.id, agents.load(spec.name), game, *spec.args, **{**entry.fixed, **spec.kwargs})
    player = made
    return player
