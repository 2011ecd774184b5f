"""Contracts for comparing players: a random deal, a bid of 30, and the declaration that looks best to the bidder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.play.rollout import deals_around
from ludory.agents.texas42.solver.solver import Solver, positions
from ludory.envs import hash_rows
from ludory.envs.texas42.tiles import STRAIGHT, TILES

BID, BIDDER = 30, 0
"""Seat 0 bids 30 and leads."""


class StandardContracts(NamedTuple):
    """n deals with their declarations; `options` starts them in `Texas42Play-v0`."""

    deals: NDArray[np.int64]
    """(n, 28) tile ids, seat after seat, every hand ascending."""
    decls: NDArray[np.int64]
    """(n,)"""

    @property
    def options(self) -> dict[str, NDArray[np.int64]]:
        """The `options` of `engine.reset`."""
        return {"deal": self.deals, "decl": self.decls}


def standard_contracts(
    first: int, count: int, seed: int = 0, worlds: int = 16, solver: Solver | None = None
) -> StandardContracts:
    """Uniform deals `first`, `first` + 1, ... of the stream `seed`; seat 0 declares what makes 30 in most of its worlds.

    Every deal and declaration depends only on (seed, its number, worlds). Ties go to the first declaration.

    Args:
        first: number of the first deal.
        count: number of deals.
        seed: of the stream.
        worlds: deals of the unseen tiles, solved with open hands for each of the nine declarations of straight 42.
        solver: the solver to use; None: a new one.
    """
    deals = np.array([_deal(seed, number) for number in range(first, first + count)])
    bids = [
        _declaration(deal[:7], worlds, _key(seed, first + k, 1), solver or Solver()) for k, deal in enumerate(deals)
    ]
    return StandardContracts(deals, np.array(bids, np.int64))


def _key(seed: int, number: int, use: int) -> int:
    return int(hash_rows(hash_rows(hash_rows(42, seed), number), use))


def _deal(seed: int, number: int) -> NDArray[np.int64]:
    tiles = np.argsort(hash_rows(_key(seed, number, 0), np.arange(TILES)), kind="stable")
    return np.asarray(np.sort(tiles.reshape(4, 7), axis=1).ravel(), np.int64)


def _declaration(hand: NDArray[np.int64], worlds: int, key: int, solver: Solver) -> int:
    """The declaration with which a leading hand makes 30 in most worlds; ties go to the first."""
    every = np.tile(deals_around(int(np.bitwise_or.reduce(1 << hand)), worlds, key), (len(STRAIGHT), 1))
    made = solver.makes(positions(every, np.repeat(STRAIGHT, worlds), BIDDER, bidder=BIDDER), BID)
    return STRAIGHT[int(made.reshape(len(STRAIGHT), worlds).sum(axis=1).argmax())]


def hands_of(deals: NDArray[np.int64]) -> NDArray[np.int32]:
    """Masks (n, 4) of deals (n, 28)."""
    return np.asarray(np.bitwise_or.reduce(1 << deals.reshape(-1, 4, 7), axis=2), np.int32)
