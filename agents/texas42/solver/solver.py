"""`Solver`: exact values of Texas 42 with all hands open.

Tiles are renumbered by strength, so that they are compared as integers. For a declaration, place[tile] is 0..27 such that within every
suit, the called one included, a stronger tile has a higher place, and every trump a higher place than any other tile. The winner of a
trick is then the highest place among the tiles that can win.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs import State, bind, run_parts
from ludory.envs.texas42.bits import index_of
from ludory.envs.texas42.tiles import (
    ALL_TILES,
    CALLED,
    COUNT,
    COUNTING,
    DECLARATIONS,
    DOUBLES,
    FOLLOW,
    HIGH,
    LED,
    LOW,
    NELLO_HIGH,
    NELLO_LOW,
    SEVENS,
    TILES,
    in_suit,
    is_called,
    mask_of,
)
from ludory.errors import OptionError

from .search import COLUMNS, FRAMES, TABLE_BITS, moves_of, play, search, set_up, twin_of

Ints = NDArray[np.int32]


class Strength(NamedTuple):
    """One declaration in places; masks are of places."""

    place: Ints
    """[28]: place of each tile."""
    tile: Ints
    """[28]: tile at each place."""
    follows: Ints
    """[28]: by the place of the tile led, the mask of the tiles that follow it."""
    wins: Ints
    """[28]: by the place of the tile led, the mask of the tiles that can win."""
    counts: Ints
    """[2]: masks of the tiles that count five, and ten."""
    level: Ints
    """[28]: by place, the mask of the tiles that do not beat it though their place is higher; 0 but for sevens."""
    shared: Ints
    """[28]: by place, the mask of the tiles of other suits whose lead it follows; under sevens every tile, as there are no suits."""


def _order(decl: int) -> list[int]:
    """Tiles from weak to strong."""

    def strength(tile: int) -> tuple[int, int]:
        pips, double = HIGH[tile] + LOW[tile], HIGH[tile] == LOW[tile]
        if decl == SEVENS:
            return 0, -abs(pips - 7)
        trump = decl <= DOUBLES and is_called(decl, tile)
        bottom = decl == NELLO_LOW and double
        return (
            2 if trump else 0 if not double else -1 if bottom else 1,
            99 if trump and double and decl < DOUBLES else pips,
        )

    return sorted(range(TILES), key=strength)


@cache
def strength_of(decl: int) -> Strength:
    """The tables of a declaration."""
    order = _order(decl)
    place = np.argsort(order).astype(np.int32)

    def mask(tiles: list[int]) -> int:
        return mask_of(place[tile] for tile in tiles)

    trumps = [tile for tile in range(TILES) if decl <= DOUBLES and is_called(decl, tile)]
    suits = [[tile for tile in range(TILES) if in_suit(decl, suit, tile)] for suit in range(CALLED + 1)]
    assert all(mask_of(suit) == FOLLOW[decl, k] for k, suit in enumerate(suits))
    follows = [mask(suits[LED[decl, tile]]) for tile in order]
    wins = [mask([*suits[LED[decl, tile]], *trumps]) for tile in order]
    level = [0] * TILES
    if decl == SEVENS:
        for tile in order:
            equals = [other for other in range(TILES) if HIGH[other] + LOW[other] in _as_near(tile)]
            level[place[tile]] = mask(equals) & ~((2 << int(place[tile])) - 1)
    counts = [mask([tile for tile in range(TILES) if COUNT[tile] == points]) for points in (5, 10)]
    led = [[other for other in range(TILES) if tile in suits[LED[decl, other]]] for tile in order]
    shared = [
        mask([other for other in ones if decl == SEVENS or LED[decl, other] != LED[decl, tile]])
        for tile, ones in zip(order, led, strict=True)
    ]
    return Strength(place, *(np.array(part, np.int32) for part in (order, follows, wins, counts, level, shared)))


def _as_near(tile: int) -> tuple[int, int]:
    """Sums of pips as near to seven as the tile's."""
    distance = abs(HIGH[tile] + LOW[tile] - 7)
    return 7 - distance, 7 + distance


ILLEGAL = -128
"""Value of tiles that may not be played."""

_TEMPLATE = str(Path(__file__).with_name("solve_cpu"))
_KERNELS: dict[str, Any] = {
    "search": search,
    "set_up": set_up,
    "play": play,
    "moves_of": moves_of,
    "index_of": index_of,
    "twin_of": twin_of,
}


class Positions(NamedTuple):
    """n positions with all hands open, between the first lead and the last tile."""

    held: NDArray[np.int32]
    """(n, 4) masks of the tiles held, without those that lie in the trick."""
    leader: NDArray[np.int64]
    """(n,) leader of the current trick."""
    trick: NDArray[np.int64]
    """(n, 3) tiles in the trick, in order, then -1."""
    decl: NDArray[np.int64]
    """(n,) declaration."""
    bidder: NDArray[np.int64]
    """(n,) bidder; used only under nello and sevens."""

    def row(self, k: int) -> Positions:
        """Position k alone."""
        return Positions(*(part[k : k + 1] for part in self))  # type: ignore[arg-type]


def positions(
    held: ArrayLike, decl: ArrayLike, leader: ArrayLike, trick: Sequence[int] = (), bidder: ArrayLike = 0
) -> Positions:
    """Positions from masks (n, 4) or (4,); scalars are broadcast."""
    hands = np.atleast_2d(np.asarray(held, np.int32))
    count = len(hands)

    def column(value: ArrayLike) -> NDArray[np.int64]:
        # a copy: kernels are compiled again for arrays that may not be written to
        return np.array(np.broadcast_to(np.asarray(value, np.int64), (count,)))

    lying = np.full((count, 3), -1, np.int64)
    lying[:, : len(trick)] = trick
    return _checked(Positions(np.ascontiguousarray(hands), column(leader), lying, column(decl), column(bidder)))


def positions_of(state: State, rows: ArrayLike | slice = slice(None)) -> Positions:
    """The positions of games that are being played, all or `rows`, from their state on the CPU."""
    parts = state.leader[rows], state.trick[rows, :3], state.decl[rows], state.bidder[rows]
    columns = (np.ascontiguousarray(part, np.int64) for part in parts)
    return _checked(Positions(np.array(state.held[rows], np.int32), *columns))


def _checked(given: Positions) -> Positions:
    held, decl = given.held, given.decl
    if len(held) and (decl.min() < 0 or decl.max() >= len(DECLARATIONS)):
        raise OptionError(f"decl: must lie in 0..{len(DECLARATIONS) - 1}, got {decl.min()}..{decl.max()}")
    twice = (held[:, 0] & held[:, 1]) | (held[:, 2] & held[:, 3])
    twice |= (held[:, 0] | held[:, 1]) & (held[:, 2] | held[:, 3])
    if twice.any():
        raise OptionError(f"held: in position {int(twice.argmax())} two seats hold the same tile")
    return given


class SolverWorkspace(NamedTuple):
    """Memory of one thread: the position being searched, table and stack; see `search.py`."""

    hands: NDArray[np.int32]
    position: NDArray[np.int64]
    contract: NDArray[np.int64]
    table: NDArray[np.int64]
    frames: NDArray[np.int32]
    clock: NDArray[np.int64]
    """(1,) generation of the table entries that belong to the current position."""


def new_workspace() -> SolverWorkspace:
    """An empty one, 0.5 MB."""
    position = np.zeros(4, np.int32), np.zeros(10, np.int64), np.zeros(6, np.int64)
    return SolverWorkspace(
        *position, np.zeros(1 << TABLE_BITS, np.int64), np.zeros((FRAMES, COLUMNS), np.int32), np.zeros(1, np.int64)
    )


@cache
def rules() -> Strength:
    """The tables of all declarations, each [14, ...]."""
    tables = [strength_of(decl) for decl in range(len(DECLARATIONS))]
    return Strength(*(np.stack(parts) for parts in zip(*tables, strict=True)))


@cache
def _bound() -> ModuleType:
    return bind(_TEMPLATE, _KERNELS, np.dtype([]))


class OpenHandValues(Protocol):
    """What tells the values of tiles when all seats see all hands: a `Solver`, or a network."""

    name: str
    """What files say of where the values come from."""

    def q_values(self, given: Positions, only: ArrayLike = ALL_TILES) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """As `Solver.q_values`."""


class Solver:
    """Exact alpha-beta search with a transposition table, in as many threads as a batch fills.

    Values are points still to be won, Team 0's minus Team 1's, when all seats see all hands; Team 0 maximises, Team 1 minimises.
    Under nello and sevens they are tricks that break the contract: 0, or negative for a bidder of Team 0, positive for one of Team 1.

    Args:
        threads: number of threads per batch; None: `LUDORY_NUM_THREADS`, else the number of cores.
    """

    name = "exact"
    """As of `OpenHandValues`."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads, self._free = threads, [new_workspace()]

    def value(self, given: Positions) -> NDArray[np.int8]:
        """V (n,)."""
        values = np.zeros(len(given.held), np.int8)
        self._run("value_rows", given, values)
        return values

    def q_values(self, given: Positions, only: ArrayLike = ALL_TILES) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """V (n,), and Q (n, 28) of every tile that may be played; `ILLEGAL` for the others.

        only: mask of the tiles to evaluate, one or (n,); V is then the best of these.
        """
        values, q = np.zeros(len(given.held), np.int8), np.zeros((len(given.held), 28), np.int8)
        self._run("q_rows", given, np.full(len(values), only, np.int64), values, q)
        return values, q

    def makes(self, given: Positions, bid: ArrayLike, banked: ArrayLike = 0) -> NDArray[np.bool_]:
        """(n,) whether the bidder's side makes its bid.

        Args:
            given: the positions, with the `bidder` of each.
            bid: 30..41 points or 42 m for m marks, one or (n,).
            banked: points of the bidder's side from earlier tricks; under nello and sevens, tricks that broke the contract.
        """
        bounds, flip = _bounds(given, bid, banked)
        answers = np.zeros(len(given.held), np.bool_)
        self._run("at_least_rows", given, bounds, answers)
        return answers ^ flip

    def make_after(self, given: Positions, bid: ArrayLike, banked: ArrayLike = 0) -> NDArray[np.bool_]:
        """(n, 28) whether the bidder's side makes its bid after each tile; False for those that may not be played."""
        bounds, flip = _bounds(given, bid, banked)
        answers = np.zeros((len(given.held), 28), np.int8)
        self._run("at_least_after_rows", given, bounds, answers)
        makes: NDArray[np.bool_] = ((answers == 1) ^ flip[:, None]) & (answers != ILLEGAL)
        return makes

    def _run(self, name: str, given: Positions, *arrays: NDArray[Any]) -> None:
        kernel = getattr(_bound(), name)

        def part(start: int, stop: int) -> None:
            work = self._free.pop() if self._free else new_workspace()
            kernel(given, rules(), work, *arrays, start, stop)
            self._free.append(work)

        run_parts(part, len(given.held), threads=self._threads, rows_per_thread=16)


def points_left(given: Positions) -> NDArray[np.int64]:
    """(n,) points still to be won, including the current trick."""
    lying = np.where(given.trick >= 0, 1 << np.maximum(given.trick, 0), 0).sum(axis=1)
    tiles = np.bitwise_or.reduce(given.held, axis=1) | lying
    counts = sum(((tiles >> tile) & 1) * int(COUNT[tile]) for tile in COUNTING)
    tricks = ((given.held[:, :, None] >> np.arange(28)) & 1).sum(axis=2).max(axis=1)
    return np.asarray(tricks + counts, np.int64)


def _bounds(given: Positions, bid: ArrayLike, banked: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Lower bound of V for Team 0 to make its bid, or, if flipped, for Team 1 to fail."""
    need = np.minimum(np.asarray(bid, np.int64), 42) - np.asarray(banked, np.int64)
    bound = 2 * need - points_left(given)
    bound = np.where(given.decl >= NELLO_HIGH, np.where(np.asarray(banked) > 0, 99, 0), bound)
    odd = given.bidder % 2 == 1
    bounds = np.where(odd, 1 - bound, bound)
    return np.array(np.broadcast_to(bounds, given.leader.shape)), odd
