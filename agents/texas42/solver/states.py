"""States of a dealt hand in 41 bits, as files of the oracle have them.

Bits 7p..7p+6 tell which of its dealt tiles, by local index, seat p still holds (a tile in the trick is no longer held); 28-29 the leader;
30-31 the number of tiles in the trick; 32-34, 35-37, 38-40 the local indices of its first, second and third tile, each in its
player's hand, 7 for none. A local index is the place of a tile in its dealt hand, ascending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
