"""States of 41 bits, many at a time: from masks of tiles, and as positions of the solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .solver import Positions
from .states import NO_TILE

_LOCAL = np.arange(7)


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


def hands_of(dealt: NDArray[Any]) -> NDArray[np.int64]:
    """(n, 4, 7) tile ids, ascending, of masks (n, 4) of seven tiles each."""
    bits = np.asarray(dealt, np.int64)[:, :, None] >> np.arange(28) & 1
    return np.nonzero(bits)[2].reshape(-1, 4, 7)


def pack_masks(
    hands: NDArray[np.int64], held: NDArray[Any], leader: NDArray[Any], trick: NDArray[Any]
) -> NDArray[np.int64]:
    """(n,) states.

    Args:
        hands: (n, 4, 7) dealt tile ids, ascending.
        held: (n, 4) masks of the tiles held, without those of the trick.
        leader: (n,) of the trick.
        trick: (n, 3) tiles lying in it, in order, then -1.
    """
    leader = np.asarray(leader, np.int64)
    local = (np.asarray(held, np.int64)[:, :, None] >> hands & 1) << _LOCAL
    packed: NDArray[np.int64] = (local.sum(axis=2) << 7 * np.arange(4)).sum(axis=1) | leader << 28
    packed |= (trick >= 0).sum(axis=1) << 30
    for place in range(3):
        tiles = np.take_along_axis(hands, ((leader + place) & 3)[:, None, None], 1)[:, 0]
        index = (tiles == trick[:, place : place + 1]).argmax(axis=1)
        packed |= np.where(trick[:, place] >= 0, index, NO_TILE) << 32 + 3 * place
    return packed
