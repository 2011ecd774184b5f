"""States of a dealt hand in 41 bits, as files of the oracle have them; one at a time, and as arrays.

Bits 7p..7p+6 are the dealt tiles, by local index, that seat p still holds (a tile in the trick is no longer held). Bits 28-29 are the
leader, 30-31 the number of tiles in the trick, and 32-34, 35-37, 38-40 the local indices of its first, second and third tile, each in
its player's hand, 7 for none. A local index is the place of a tile in its dealt hand, ascending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .solver import Positions

NO_TILE = 7


class OpenState(NamedTuple):
    """A state, unpacked."""

    held: tuple[int, int, int, int]
    """By seat, 7-bit masks of local indices."""
    leader: int
    trick: tuple[int, ...]
    """Local indices of the tiles lying in the trick, in order."""

    @property
    def to_move(self) -> int:
        """The seat that plays next."""
        return (self.leader + len(self.trick)) % 4


def pack(state: OpenState) -> int:
    """The 41 bits of a state."""
    packed = sum(mask << 7 * seat for seat, mask in enumerate(state.held))
    packed |= state.leader << 28 | len(state.trick) << 30
    for k, local in enumerate((*state.trick, NO_TILE, NO_TILE, NO_TILE)[:3]):
        packed |= local << 32 + 3 * k
    return packed


def unpack(packed: int) -> OpenState:
    """The state of 41 bits."""
    a, b, c, d = (packed >> 7 * seat & 127 for seat in range(4))
    length = packed >> 30 & 3
    return OpenState((a, b, c, d), packed >> 28 & 3, tuple(packed >> 32 + 3 * k & 7 for k in range(length)))


def root(leader: int) -> int:
    """The state before the first lead."""
    return pack(OpenState((127, 127, 127, 127), leader, ()))


def dealt_hands(deal: Sequence[int]) -> list[list[int]]:
    """Four sorted hands from 28 tile ids, seat after seat."""
    return [sorted(int(tile) for tile in deal[7 * seat : 7 * seat + 7]) for seat in range(4)]


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
