"""`Belief`: worlds drawn from those that a seat considers possible; `GameBeliefs`: those that a game brings along for searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ludory.agents.seat import Seat, SeatMove

if TYPE_CHECKING:
    from .blueprint import Blueprint
    from .searcher import Searcher


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
        """Update the belief with a move about to be made, by any seat, the own one too.

        What the move reveals is seen at the next call of `watch` or `draw`.
        """

    def draw(self, seat: Seat, count: int, key: int) -> Draw:
        """`count` worlds, a function of `key`, a signed 64-bit integer: `seat.worlds(count, seed=key % 2**63)` draws with it."""


class GameBeliefs(NamedTuple):
    """What a game offers to searches: `ludory.beliefs` has functions `make(game) -> GameBeliefs | None` by family or id of the game."""

    belief: Callable[[Blueprint, int, int], Belief]
    """`belief(blueprint, seat, particles)`: of `seat` at the start of a game in which all others play `blueprint`.

    particles: worlds to keep, for beliefs that do not list all of them.
    """
    joint: Callable[..., Searcher] | None = None
    """`joint(game, blueprint, rollouts, threshold, errors, seed, range_max, halving)`: plays all seats, each of which can repeat the
    searches of the others. None: only one seat of a game may search."""
