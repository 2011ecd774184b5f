"""Worlds: deals of the unseen tiles that agree with what a seat knows; counted, enumerated, and drawn exactly uniformly.

The tiles are dealt one after another, doubles first. ways[64 i + 8 a + b] is the number of ways to deal tiles i, i + 1, ... when the
next two seats still need a and b tiles; the third needs the rest. While doubles are dealt, a and b also determine how many doubles each
seat has, so a plunge or splash, which promises doubles, only rules out entries at the last double.
World k is found from k by walking down the table. This is a bijection, so uniform ranks lead to uniform worlds. All numbers are integers.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import State, cached_batch_kernel, mix
from ludory.errors import OptionError

from .state import PLUNGE, PLUNGE_DOUBLES, SPLASH, SPLASH_DOUBLES
from .tiles import ALL_TILES, DOUBLE_TILES, TILE_NAMES, tiles_of

MOST_UNSEEN = 21
ENUMERATE_BELOW = 2000
"""Up to this number all worlds are used by default instead of a sample."""

Masks = NDArray[np.int32]


class Knowledge(NamedTuple):
    """What a seat knows about the hands of the other three, who are in turn order, the seat to its left first."""

    hand: int
    """Mask of the seat's own tiles."""
    unseen: int
    """Mask of the tiles that are neither played nor in the own hand."""
    sizes: tuple[int, int, int]
    """Number of tiles that each of the others holds."""
    may: tuple[int, int, int]
    """Masks of the tiles that each of the others may hold."""
    doubles: tuple[int, int, int] = (0, 0, 0)
    """Minimum number of doubles of each of the others, known from a plunge or splash."""


def knowledge(state: State, i: int, seat: int) -> Knowledge:
    """What `seat` knows in game `i` of a state on the CPU."""
    others = [(seat + k) % 4 for k in (1, 2, 3)]
    played = int(np.bitwise_or.reduce(state.dealt[i] & ~state.held[i]))
    unseen = ALL_TILES & ~played & ~int(state.held[i, seat])
    sizes = tuple(int(state.held[i, other]).bit_count() for other in others)
    may = tuple(unseen & ~int(state.cannot[i, other]) for other in others)
    doubles = tuple(_doubles(state, i, other) for other in others)
    return Knowledge(int(state.held[i, seat]), unseen, sizes, may, doubles)  # type: ignore[arg-type]


def _doubles(state: State, i: int, seat: int) -> int:
    """Minimum number of doubles that `seat` still holds."""
    promised = {PLUNGE: PLUNGE_DOUBLES, SPLASH: SPLASH_DOUBLES}.get(int(state.bids[i, seat]), 0)
    shown = int(state.dealt[i, seat]) & ~int(state.held[i, seat]) & DOUBLE_TILES
    return max(0, promised - shown.bit_count())


@cached_batch_kernel
def count_table(owners, doubles, sizes, needs, ways):
    """Fill `ways` [64 (T + 1)]; owners [T]: bit set of the seats that may hold each tile, doubles first; returns their number."""
    tiles = owners.shape[0]
    size_0, size_1, size_2 = sizes[0], sizes[1], sizes[2]
    for k in range(64 * (tiles + 1)):
        ways[k] = 0
    # one way to deal no tiles, to hands that are full
    ways[64 * tiles] = 1
    for i in range(tiles, -1, -1):
        for a in range(size_0 + 1):
            # the third seat needs what is left: no third digit in the table
            for b in range(size_1 + 1):
                c = tiles - i - a - b
                at = 64 * i + 8 * a + b
                if c < 0 or c > size_2:
                    ways[at] = 0
                    continue
                if i < tiles:
                    # one tile further on: seat 0 needs one less (8 entries before), seat 1 one less (1 before), or seat
                    # 2
                    total, behind = 0, at + 64
                    if owners[i] & 1 and a > 0:
                        total += ways[behind - 8]
                    if owners[i] & 2 and b > 0:
                        total += ways[behind - 1]
                    if owners[i] & 4 and c > 0:
                        total += ways[behind]
                    ways[at] = total
                given_0, given_1 = size_0 - a, size_1 - b
                # at the last double: what each seat has been given so far are its doubles
                if i == doubles and (given_0 < needs[0] or given_1 < needs[1] or i - given_0 - given_1 < needs[2]):
                    ways[at] = 0
    return ways[8 * size_0 + size_1]


@cached_batch_kernel
def deal_ranks(bits, owners, sizes, ways, ranks, out):
    """out[k]: the three hands of world ranks[k]; bits [T]: mask of each tile."""
    tiles = owners.shape[0]
    for k in range(ranks.shape[0]):
        rank, place = ranks[k], 8 * sizes[0] + sizes[1]
        hand_0, hand_1, hand_2 = 0, 0, 0
        for i in range(tiles):
            # What cannot be, a tile too many or c < 0, has 0 ways in the table, and place stays above 0 as long as a tile is needed.
            behind = 64 * (i + 1) + place
            first = ways[behind - 8] if owners[i] & 1 and place >= 8 else 0
            if rank < first:
                hand_0 |= bits[i]
                place -= 8
                continue
            rank -= first
            second = ways[behind - 1] if owners[i] & 2 and place & 7 else 0
            if rank < second:
                hand_1 |= bits[i]
                place -= 1
            else:
                rank -= second
                hand_2 |= bits[i]
        out[k, 0], out[k, 1], out[k, 2] = hand_0, hand_1, hand_2


_LOW, _S32 = np.uint64(0xFFFFFFFF), np.uint64(32)


@cached_batch_kernel
def draw_ranks(key, count, ranks):
    """Independent uniform ranks in 0..count-1 (below 2**31), by multiply-and-reject (arXiv 1805.10941)."""
    bound, counter = np.uint64(count), 0
    # 2^32 mod n: low halves below it would make some ranks likelier than others
    threshold = ((_LOW + np.uint64(1)) - bound) % bound
    for k in range(ranks.shape[0]):
        while True:
            product = (np.uint64(mix(key, counter)) >> _S32) * bound
            counter += 1
            if (product & _LOW) >= threshold:
                break
        ranks[k] = product >> _S32


@cached_batch_kernel
def draw_distinct(key, pool, ranks):
    """Distinct uniform entries of `pool`, which is shuffled in part."""
    counter = 0
    for k in range(ranks.shape[0]):
        bound = np.uint64(pool.shape[0] - k)
        threshold = ((_LOW + np.uint64(1)) - bound) % bound
        while True:
            product = (np.uint64(mix(key, counter)) >> _S32) * bound
            counter += 1
            if (product & _LOW) >= threshold:
                break
        # Fisher-Yates as far as it is needed
        other = k + np.int64(product >> _S32)
        ranks[k] = pool[other]
        pool[other] = pool[k]


class Worlds:
    """All worlds that agree with `known`, numbered from 0.

    Raises:
        OptionError: there are none, so `known` cannot come from a game.
    """

    def __init__(self, known: Knowledge) -> None:
        self.known = known
        doubles, rest = tiles_of(known.unseen & DOUBLE_TILES), tiles_of(known.unseen & ~DOUBLE_TILES)
        tiles = np.array(doubles + rest, np.int64)
        self._bits = np.left_shift(1, tiles)
        self._owners = sum((mask >> tiles & 1) << seat for seat, mask in enumerate(known.may)) + 0 * tiles
        self._sizes = np.array(known.sizes, np.int64)
        self._ways = np.empty(64 * (MOST_UNSEEN + 1), np.int32)
        # what a seat needs is a digit of base 8 in the table
        fits = len(tiles) == sum(known.sizes) and max(known.sizes) <= 7
        needs = np.array(known.doubles, np.int64)
        table = self._bits, self._owners, self._sizes, self._ways
        self._table = table
        self.count = int(count_table(self._owners, len(doubles), self._sizes, needs, self._ways)) if fits else 0
        """N, number of worlds, at most 399,072,960."""
        if not self.count:
            raise OptionError(f"no deal agrees with {_described(known)}: the knowledge is not of a game")

    def of_ranks(self, ranks: NDArray[np.int64]) -> Masks:
        """Hands (n, 3) of the worlds with these ranks in 0..count-1."""
        out = np.empty((len(ranks), 3), np.int32)
        deal_ranks(*self._table, np.ascontiguousarray(ranks, np.int64), out)
        return out

    def all(self) -> Masks:
        """Hands (count, 3) of all worlds."""
        return self.of_ranks(np.arange(self.count))

    def sample(self, n: int, key: int) -> Masks:
        """Hands (n, 3) of independent uniform worlds; the same for the same 64-bit `key`."""
        ranks = np.empty(n, np.int64)
        draw_ranks(np.int64(key), self.count, ranks)
        return self.of_ranks(ranks)

    def choose(self, n: int, key: int, enumerate_below: int = ENUMERATE_BELOW) -> Masks:
        """All worlds if there are at most `enumerate_below`; else n: distinct ones where that matters (count <= 8 n), else `sample`."""
        if self.count <= max(enumerate_below, n):
            return self.all()
        if self.count > 8 * n:
            return self.sample(n, key)
        # with few worlds a sample would repeat some; with many it hardly does
        ranks = np.empty(n, np.int64)
        draw_distinct(np.int64(key), np.arange(self.count), ranks)
        return self.of_ranks(ranks)


def _described(known: Knowledge) -> str:
    def names(mask: int) -> str:
        return " ".join(TILE_NAMES[tile] for tile in tiles_of(mask)) or "no tile"

    others = "; ".join(
        f"+{k + 1} holds {size}, {known.doubles[k]} doubles at least, of {names(may)}"
        for k, (size, may) in enumerate(zip(known.sizes, known.may, strict=True))
    )
    return f"hand {names(known.hand)}, unseen {names(known.unseen)}; {others}"
