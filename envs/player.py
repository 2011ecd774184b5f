"""What a table needs of whoever plays a seat; `ludory.agents.Agent` is one."""

from __future__ import annotations

from typing import Any, Protocol

from .engine import Array, Engine

Memory = Any
"""None, an array with games on its first axis, or a tuple of such. Updated in place."""


class Player(Protocol):
    """Chooses the moves of one seat in a batch of games."""

    def initial_memory(self, rows: int) -> Memory:
        """Memory of `rows` games before their first move."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions of `seat` in the games `rows`, shaped as one seat's part of `Engine.step`: (m,) or (m, H)."""

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Told to every seat, in the games `rows`, after a move was chosen and before it is applied."""


def forget(memory: Memory, fresh: Memory, rows: Array) -> None:
    """Put the memory of new games, `fresh`, in the places `rows` of `memory`."""
    if isinstance(memory, tuple):
        for part, new in zip(memory, fresh, strict=True):
            forget(part, new, rows)
    elif memory is not None:
        memory[rows] = fresh
