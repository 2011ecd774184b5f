"""E[Q]: what a tile is worth on average over worlds, each solved with open hands; and how often it makes the contract.

Averaging optima of single worlds assumes that all later choices are made with open hands (strategy fusion), so these are no values
of the game with hidden hands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.protocol import on_host
from ludory.envs.game import State
from ludory.envs.texas42.tiles import NELLO_HIGH, SEVENS, tiles_of

from .solver import ILLEGAL, Positions, positions


class Decision(NamedTuple):
    """A seat that has to play a tile: what is public of it."""

    seat: int
    decl: int
    leader: int
    trick: tuple[int, ...]
    """Tiles that lie in the trick, in order."""
    bid: int
    """30..41 points, or 42 m for m marks."""
    bidder: int
    banked: int
    """Points of the bidder's side so far; under nello and sevens, tricks that broke the contract."""

    @property
    def side(self) -> int:
        """1 if the mover is of Team 0, else -1."""
        return 1 if self.seat % 2 == 0 else -1

    @property
    def declares(self) -> bool:
        """Whether the mover's side has the contract."""
        return (self.seat - self.bidder) % 2 == 0

    @property
    def for_points(self) -> bool:
        """Whether tiles have values in points, which they have not under nello and sevens."""
        return self.decl < NELLO_HIGH

    def worlds(self, hand: int, others: NDArray[np.int32]) -> Positions:
        """Positions of worlds (n, 3), hands of the other seats in turn order, in which the mover holds `hand`."""
        held = np.empty((len(others), 4), np.int32)
        held[:, self.seat] = hand
        for k in range(3):
            held[:, (self.seat + 1 + k) % 4] = others[:, k]
        return positions(held, self.decl, self.leader, self.trick, self.bidder)


def decision_of(state: State, i: int) -> Decision:
    """The decision of the seat to move in game `i`, which is being played."""
    decl, bidder = int(state.decl[i]), int(state.bidder[i])
    team = bidder % 2
    banked = state.points[i, team]
    if decl >= NELLO_HIGH:
        banked = state.tricks[i, 1 - team if decl == SEVENS else team]
    trick = on_host(state.trick[i])[: int(state.trick_len[i])]
    leader, bid = int(state.leader[i]), int(state.bid[i])
    return Decision(int(state.to_move[i]), decl, leader, tuple(map(int, trick)), bid, bidder, int(banked))


class Moments(NamedTuple):
    """Q over worlds of equal weight, from the mover's side; the rows are `tiles`."""

    tiles: tuple[int, ...]
    """Tiles that may be played, ascending."""
    q: NDArray[np.int64]
    """(n, tiles)"""

    @property
    def mean(self) -> NDArray[np.float64]:
        """(tiles,) E[Q] in points."""
        return np.asarray(self.q.mean(axis=0))

    @property
    def variance(self) -> NDArray[np.float64]:
        """(tiles,) population variance of Q."""
        return np.asarray(np.maximum((self.q**2).mean(axis=0) - self.mean**2, 0))

    def density(self) -> NDArray[np.float64]:
        """(tiles, 85) probability of each value from -42 to 42."""
        bins = [np.bincount(column + 42, minlength=85) for column in self.q.T]
        return np.array(bins, float) / len(self.q)


def moments(side: int, q: NDArray[np.int8], legal: int) -> Moments:
    """Moments of Q (n, 28) as `Solver.q_values` gives it; side: 1 for Team 0, -1 for Team 1; legal: mask of the tiles."""
    tiles = tuple(tiles_of(legal))
    values = side * q[:, list(tiles)].astype(np.int64)
    assert (q[:, list(tiles)] != ILLEGAL).all(), "a tile of the mask may not be played in some world"
    return Moments(tiles, values)
