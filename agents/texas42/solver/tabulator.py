"""`Tabulation`: the values of every reachable state of one deal."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.texas42.tiles import COUNT, FOLLOW, LED, NELLO_HIGH, RANK
from ludory.errors import OptionError

from .states import NO_TILE, dealt_hands, root
from .tabulate import REACHED, UNREACHED, list_positions, list_states, look_up_rows, sweep

_SIZES = np.array([comb(7, k) for k in range(8)], np.int64)
_BASE = np.concatenate([[0], np.cumsum(4 * _SIZES**4)])
_NUMBER = np.zeros(128, np.int64)
for _k in range(8):
    for _r, _mask in enumerate(mask for mask in range(128) if mask.bit_count() == _k):
        _NUMBER[_mask] = _r


class Slots(NamedTuple):
    """Where positions stand in a table; see `tabulate.py`."""

    number: NDArray[np.int64]
    base: NDArray[np.int64]
    sizes: NDArray[np.int64]


class Deal(NamedTuple):
    """Tables of the tiles of a deal; see `tabulate.py`."""

    follow: NDArray[np.int64]
    able: NDArray[np.int64]
    counts: NDArray[np.int64]


_SLOTS = Slots(_NUMBER, _BASE, _SIZES)


class Tabulation:
    """Values in points of all states reachable from the first lead; 13.6 MB.

    Building it takes about as long as a thousand searches; a look-up takes less than a microsecond.

    Args:
        deal: 28 tile ids, seat after seat.
        decl: declaration, 0..9.
        leader: of the first trick.

    Raises:
        OptionError: the declaration is not played for points.
    """

    def __init__(self, deal: Sequence[int], decl: int, leader: int = 0) -> None:
        if not 0 <= decl < NELLO_HIGH:
            raise OptionError(f"decl={decl}: must be 0..9; nello and sevens are not played for points")
        tiles = np.array(dealt_hands(list(deal))).ravel()
        bits = np.left_shift(1, tiles)
        led = LED[decl, tiles].astype(np.int64)
        follows = (FOLLOW[decl, led][:, None] & bits) != 0  # (28, 28)
        follow = (follows.reshape(28, 4, 7) << np.arange(7)).sum(axis=2)
        able = RANK[decl][led][:, tiles].astype(np.int64)
        self._deal = Deal(
            np.ascontiguousarray(follow, np.int64), np.ascontiguousarray(able), COUNT[tiles].astype(np.int64)
        )
        self._table = np.full(int(_BASE[8]), UNREACHED, np.int8)
        self._memory = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(28, np.int64)
        self.states_per_level = np.zeros(29, np.int64)
        """(29,) number of reachable states by the number of tiles held."""
        self._root = root(leader)
        self._fill(leader)

    def _fill(self, leader: int) -> None:
        subsets = np.zeros(35, np.int64)
        work = self._deal, _SLOTS, self._table, self.states_per_level, subsets, *self._memory
        self._table[_BASE[7] + leader] = REACHED
        for tricks in range(7, 0, -1):
            sweep(True, tricks, *work)
        ends = self._table[:4] == REACHED
        self.states_per_level[0] = ends.sum()
        self._table[:4][ends] = 0
        for tricks in range(1, 8):
            sweep(False, tricks, *work)

    @property
    def states(self) -> int:
        """Number of reachable states."""
        return int(self.states_per_level.sum())

    def look_up(self, states: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """V (n,) and Q (n, 7) by the mover's local indices, -128 where it may not play, of reachable states of 41 bits."""
        packed = np.ascontiguousarray(states, np.int64)
        values, q = np.zeros(len(packed), np.int8), np.zeros((len(packed), 7), np.int8)
        look_up_rows(packed, self._deal, _SLOTS, self._table, *self._memory, values, q)
        return values, q

    def root(self) -> tuple[int, NDArray[np.int8]]:
        """V and Q (7,) before the first lead."""
        values, q = self.look_up([self._root])
        return int(values[0]), q[0]

    def reachable(self) -> Iterator[NDArray[np.int64]]:
        """Yields all reachable states in ascending order, in parts, including the root and the ends of the hand."""
        hands, leaders = self._positions()
        by_leader = [hands[leaders == leader] for leader in range(4)]
        by_first = {
            (seat, k): part[part >> 7 * seat + k & 1 == 1] for seat, part in enumerate(by_leader) for k in range(7)
        }
        out = np.empty(max(map(len, by_leader)), np.int64)
        for third, second, first, leader in product(range(8), range(8), range(8), range(4)):
            if (third != NO_TILE and second == NO_TILE) or (second != NO_TILE and first == NO_TILE):
                continue
            before = by_leader[leader] if first == NO_TILE else by_first[leader, first]
            count = list_states(before, leader, first, second, third, self._deal.follow, out)
            if count:
                yield out[:count].copy()

    def _positions(self) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Hands (28 bits, ascending) and leaders of all reachable positions between tricks."""
        count = int(self.states_per_level[::4].sum())
        hands, leaders = np.empty(count, np.int32), np.empty(count, np.int8)
        list_positions(self._table, _SLOTS, np.zeros(35, np.int64), hands, leaders)
        order = np.argsort(hands, kind="stable")
        return hands[order], leaders[order]
