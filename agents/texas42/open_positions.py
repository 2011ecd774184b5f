"""States of 41 bits as positions of the solver, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .solver import Positions


def movers(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) the seat that plays next in each state (n,)."""
    return ((states >> 28 & 3) + (states >> 30 & 3)) & 3


def open_positions(
    deal: NDArray[Any], decl: NDArray[Any], states: NDArray[np.int64]
) -> tuple[Positions, NDArray[np.int64]]:
    """The positions, and (n, 7) the mover's dealt tiles.

    Args:
        deal: (n, 28) tile ids, seat after seat, each hand ascending.
        decl: (n,) declarations.
        states: (n,)
    """
    hands = deal.astype(np.int64).reshape(-1, 4, 7)
    leader, length, rows = states >> 28 & 3, states >> 30 & 3, np.arange(len(states))
    held = states[:, None, None] >> (7 * np.arange(4)[:, None] + np.arange(7)) & 1
    masks = (held << hands).sum(axis=2).astype(np.int32)
    trick = np.full((len(states), 3), -1, np.int64)
    for place in range(3):
        local = states >> 32 + 3 * place & 7
        lying = hands[rows, (leader + place) & 3, np.minimum(local, 6)]
        trick[:, place] = np.where(place < length, lying, -1)
    decls, bidder = np.ascontiguousarray(decl, np.int64), np.zeros(len(states), np.int64)
    return Positions(masks, leader.copy(), trick, decls, bidder), hands[rows, movers(states)]
