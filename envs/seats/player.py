"""`Player`: what chooses the moves of a seat; usually an `ludory.agents.agent.Agent`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ludory.envs.chance import KEY
from ludory.envs.engine.protocol import Array, Engine, on_host

# Any, since each player has a type of its own for it.
Memory = Any
"""None, an array with games on its first axis, or a tuple of memories. Updated in place."""


class Player(Protocol):
    """Chooses the moves of one seat in a batch of games.

    A player may also have `look_on(engine, seat, rows, memory)`, which is called for games in which its seat waits.
    """

    def initial_memory(self, rows: int) -> Memory:
        """Memory of `rows` games before their first move."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions of `seat` in the games `rows`, (m,) for one head, (m, H) for several."""

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Called for every seat, in the games `rows`, after a move is chosen and before it is applied."""


def put(memory: Memory, values: Memory, rows: Array) -> None:
    """Write `values`, a memory of len(rows) games, to the rows `rows` of `memory`."""
    if isinstance(memory, tuple):
        for part, new in zip(memory, values, strict=True):
            put(part, new, rows)
    elif memory is not None:
        memory[rows] = values


def memory_of_new_games(player: Player, engine: Engine, seat: int, rows: Array) -> Memory:
    """Memory of `seat` in the games `rows`, which have just started.

    A player with `start_games` receives a key per game, which depends on the engine's seed, the game's number and its episode. A player
    that draws from it plays the same game whatever else is in the batch.
    """
    start_games: Callable[..., Memory] | None = getattr(player, "start_games", None)
    random = getattr(engine.state, "random", None)
    if start_games is None or random is None:
        return player.initial_memory(len(rows))
    return start_games(seat, on_host(random)[on_host(rows), KEY])


def named_arrays(memory: Memory, name: str = "") -> dict[str, Array]:
    """The arrays of a memory, by name."""
    if isinstance(memory, tuple):
        parts = [named_arrays(part, f"{name}.{number}") for number, part in enumerate(memory)]
        return {name: array for part in parts for name, array in part.items()}
    return {} if memory is None else {name: memory}
