"""`Belief`: what a search needs of a belief, worlds drawn from those that a seat considers possible."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ludory.agents.seat import Seat, SeatMove


class Draw(NamedTuple):
    """Worlds as records [n], and the blueprint's memory in every seat of each, [n, P, M]."""

    worlds: NDArray[Any]
    memories: NDArray[Any]


class Belief(Protocol):
    """The worlds that one seat considers possible in one game."""

    @property
    def size(self) -> int | None:
        """Number of hidden states considered possible; None if they are not counted."""

    @property
    def contradictions(self) -> int:
        """Number of moves by others that the blueprint would have made in no possible world."""

    def watch(self, seat: Seat, move: SeatMove) -> None:
        """Update the belief with a move about to be made."""

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds, a function of `key`."""
