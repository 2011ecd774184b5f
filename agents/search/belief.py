"""What a search needs of a belief: worlds drawn from what a seat holds possible."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ludory.agents.seat import Seat, SeatMove


class Draw(NamedTuple):
    """Worlds as records [n], and what the blueprint has in mind in every seat of each, [n, P, M]."""

    worlds: NDArray[Any]
    memories: NDArray[Any]


class Belief(Protocol):
    """What one seat holds possible in one game."""

    @property
    def size(self) -> int | None:
        """Number of hidden states held possible; None if they are not counted."""

    @property
    def contradictions(self) -> int:
        """How often the others did what the blueprint would not have done in any world held possible."""

    def watch(self, seat: Seat, move: SeatMove) -> None:
        """Take note of a move about to be made."""

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds, a function of `key`."""
