"""`Player`: whoever chooses the moves of a seat at a table; `ludory.agents.agent.Agent` is the usual one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ludory.envs.chance import KEY
from ludory.envs.engine.protocol import Array, Engine, on_host

Memory = Any
"""None, an array with games on its first axis, or a tuple of such. Updated in place."""


class Player(Protocol):
    """Chooses the moves of one seat in a batch of games.

    It may also have `look_on(engine, seat, rows, memory)`, called for games in which its seat waits while others decide.
    """

    def initial_memory(self, rows: int) -> Memory:
        """Memory of `rows` games before their first move."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions of `seat` in the games `rows`, shaped as one seat's part of `Engine.step`: (m,) or (m, H)."""

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Told to every seat, in the games `rows`, after a move was chosen and before it is applied."""


def put(memory: Memory, values: Memory, rows: Array) -> None:
    """Write `values`, a memory of len(rows) games, to the places `rows` of `memory`."""
    if isinstance(memory, tuple):
        for part, new in zip(memory, values, strict=True):
            put(part, new, rows)
    elif memory is not None:
        memory[rows] = values


def memory_of_new_games(player: Player, engine: Engine, seat: int, rows: Array) -> Memory:
    """Memory of `seat` in the games `rows`, which have just begun.

    Players with `start_games` get a key for each game. It depends on the engine's seed, the game's index and its episode, so a
    player that draws from it plays the same game whatever else is in the batch.
    """
    start_games: Callable[..., Memory] | None = getattr(player, "start_games", None)
    random = getattr(engine.state, "random", None)
    if start_games is None or random is None:
        return player.initial_memory(len(rows))
    return start_games(seat, on_host(random)[on_host(rows), KEY])


def named_arrays(memory: Memory, name: str = "") -> dict[str, Array]:
    """The arrays that a memory consists of, by name."""
    if isinstance(memory, tuple):
        parts = [named_arrays(part, f"{name}.{number}") for number, part in enumerate(memory)]
        return {name: array for part in parts for name, array in part.items()}
    return {} if memory is None else {name: memory}
