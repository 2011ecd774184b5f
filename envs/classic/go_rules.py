"""Rules of Go on boards of up to 9 x 9 points, as scalar kernels on sets of points.

Tromp-Taylor rules with two differences: suicide is illegal, and a game ends after 2 * size * size moves at the latest. Positional
superko: a stone may not lead to a position that was on the board before, whoever is to move. A pass is always legal, and two in a row
end the game. The area of a seat is its stones and the empty points from which only its stones can be reached.

A set of points is two integers: `top` holds rows 0 to 4, `bottom` rows 5 to 8, ten bits per row from the left. Column 9 and all
that lies beyond a smaller board stay empty, so that a shift does not carry a point from one row into the next: a chain grows to its
neighbours by a few shifts, on all sides at once.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import begin_episode, mix
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field, State, header

from .boards import NOBODY

PITCH, TOP_ROWS, LARGEST = 10, 5, 9
"""Bits per row, rows in the first integer, and the largest board."""
FIRST_ROW = (1 << PITCH) - 1
LAST_TOP_ROW = PITCH * (TOP_ROWS - 1)
"""The first bit of the last row in `top`."""
POSITIONS = 3
"""Positions that the state keeps with all their stones: this one and those before the last two moves."""
PLANES = ("own", "other", "own_1_ago", "other_1_ago", "own_2_ago", "other_2_ago", "forbidden", "seat", "passed")
"""Names of the planes of an observation."""
FORBIDDEN, SEAT, PASSED = 6, 7, 8

# Columns of `rules`, which all games share.
SIZE, DOUBLE_KOMI, LIMIT = 0, 1, 2


def set_of(points: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(..., 2): sets of the points that are True in (..., rows, columns)."""
    rows, columns = points.shape[-2:]
    bits = points * (np.int64(1) << (np.arange(rows)[:, None] % TOP_ROWS * PITCH + np.arange(columns)))
    in_row = bits.sum(axis=-1)
    return np.stack([in_row[..., :TOP_ROWS].sum(axis=-1), in_row[..., TOP_ROWS:].sum(axis=-1)], axis=-1)


def points_of(sets: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """(..., size, size): the points of sets (..., 2); the inverse of `set_of`."""
    rows, columns = np.arange(size)[:, None], np.arange(size)
    in_row: NDArray[np.bool_] = sets[..., rows // TOP_ROWS] >> (rows % TOP_ROWS * PITCH + columns) & 1 == 1
    return in_row


def fields(size: int, komi: float) -> dict[str, Field]:
    """The fields of a game on a board of `size` rows and columns. Their shapes are those of the largest board: kernels are compiled once."""
    moves = longest_game(size)
    board = set_of(np.ones((size, size), np.bool_))
    rules = (size, round(2 * komi), moves)
    return header(players=2) | {
        "rules": Field("int64", (3,), rules, low=rules, high=rules, shared=True),
        "board": Field("int64", (2,), board, low=board, high=board, shared=True),
        "stones": Field("int64", (POSITIONS, 2, 2), low=0, high=board),  # now and before; of seat 0 and seat 1
        "open": Field("int64", (2,), board, low=0, high=board),  # where the seat to move may play
        "lost": Field("int64", (2, 2), low=0, high=board),  # points at which a stone of the seat was ever captured
        "owned": Field("int64", (2, 2), low=0, high=board),  # the seats' areas, once the game is over
        "hashes": Field("int64", (longest_game(LARGEST),)),  # of all positions after a stone
        "positions": Field("int16", low=0, high=moves),  # their number
        "moves": Field("int16", low=0, high=moves),
        "passed": Field("int8", low=0, high=1),  # the last move was a pass
        "last": Field("int8", (), -1, low=-1, high=size * size),
        "winner": Field("int8", (), NOBODY, low=NOBODY, high=1),
    }


def longest_game(size: int) -> int:
    """Moves, passes included, after which a game is over; it is then scored as it stands."""
    return 2 * size * size


@kernel
def beside(top, bottom):
    """The points next to some points of a set, and bits off the board, which the caller takes away."""
    # the last row of `top` and the first one of `bottom` are neighbours too
    return (
        (top << 1) | (top >> 1) | (top << PITCH) | (top >> PITCH) | ((bottom & FIRST_ROW) << LAST_TOP_ROW),
        (bottom << 1) | (bottom >> 1) | (bottom << PITCH) | (bottom >> PITCH) | (top >> LAST_TOP_ROW),
    )


@kernel
def lowest(top, bottom):
    """One point of a set that is not empty."""
    if top:
        return top & -top, 0
    return 0, bottom & -bottom


@kernel
def flood(top, bottom, area_top, area_bottom):
    """A set and all points of the area that are connected with it through points of the area."""
    while True:
        near_top, near_bottom = beside(top, bottom)
        near_top, near_bottom = top | (near_top & area_top), bottom | (near_bottom & area_bottom)
        if near_top == top and near_bottom == bottom:
            return top, bottom
        top, bottom = near_top, near_bottom


@kernel
def captured(top, bottom, stones_top, stones_bottom, empty_top, empty_bottom):
    """Those of the other seat's stones that lose their last liberty when a stone is played at the empty point."""
    taken_top, taken_bottom = 0, 0
    left_top, left_bottom = beside(top, bottom)
    left_top, left_bottom = left_top & stones_top, left_bottom & stones_bottom
    while left_top | left_bottom:
        chain_top, chain_bottom = lowest(left_top, left_bottom)
        chain_top, chain_bottom = flood(chain_top, chain_bottom, stones_top, stones_bottom)
        near_top, near_bottom = beside(chain_top, chain_bottom)
        # the point was its last liberty
        if ((near_top & empty_top & ~top) | (near_bottom & empty_bottom & ~bottom)) == 0:
            taken_top, taken_bottom = taken_top | chain_top, taken_bottom | chain_bottom
        left_top, left_bottom = left_top & ~chain_top, left_bottom & ~chain_bottom
    return taken_top, taken_bottom


@kernel
def side_hash(seat, top, bottom):
    """64-bit hash of the stones of one seat."""
    return mix(mix(seat, top), bottom)


@kernel
def seen_before(state, i, position):
    """True if a position with this hash, that of seat 0's stones ^ that of seat 1's, was on the board."""
    seen = False
    for k in range(int(state.positions[i])):
        seen = seen | (int(state.hashes[i, k]) == position)
    return seen


@kernel
def find_open(state, i, seat):
    """Write to `open` where `seat` may play: empty points, without suicide and without repeating a position."""
    own_top, own_bottom = int(state.stones[i, 0, seat, 0]), int(state.stones[i, 0, seat, 1])
    other_top, other_bottom = int(state.stones[i, 0, 1 - seat, 0]), int(state.stones[i, 0, 1 - seat, 1])
    empty_top = int(state.board[0]) & ~(own_top | other_top)
    empty_bottom = int(state.board[1]) & ~(own_bottom | other_bottom)
    near_top, near_bottom = beside(empty_top, empty_bottom)
    # with an empty neighbour a stone has a liberty, whatever it captures
    open_top, open_bottom = empty_top & near_top, empty_bottom & near_bottom
    # A point without an empty neighbour is open beside an own chain with another liberty, or as the last liberty of another chain.
    single_top, single_bottom = empty_top & ~near_top, empty_bottom & ~near_bottom
    near_top, near_bottom = beside(single_top, single_bottom)
    for whose in range(2):
        stones_top, stones_bottom = (own_top, own_bottom) if whose == 0 else (other_top, other_bottom)
        left_top, left_bottom = near_top & stones_top, near_bottom & stones_bottom
        while left_top | left_bottom:
            chain_top, chain_bottom = lowest(left_top, left_bottom)
            chain_top, chain_bottom = flood(chain_top, chain_bottom, stones_top, stones_bottom)
            left_top, left_bottom = left_top & ~chain_top, left_bottom & ~chain_bottom
            free_top, free_bottom = beside(chain_top, chain_bottom)
            free_top, free_bottom = free_top & empty_top, free_bottom & empty_bottom
            first_top, first_bottom = lowest(free_top, free_bottom)
            several = ((free_top ^ first_top) | (free_bottom ^ first_bottom)) != 0
            if several == (whose == 0):
                open_top, open_bottom = open_top | free_top, open_bottom | free_bottom
    # An earlier position with an own stone at a point can only come back if that stone was captured since.
    left_top, left_bottom = open_top & int(state.lost[i, seat, 0]), open_bottom & int(state.lost[i, seat, 1])
    while left_top | left_bottom:
        point_top, point_bottom = lowest(left_top, left_bottom)
        left_top, left_bottom = left_top ^ point_top, left_bottom ^ point_bottom
        taken_top, taken_bottom = captured(point_top, point_bottom, other_top, other_bottom, empty_top, empty_bottom)
        own = side_hash(seat, own_top | point_top, own_bottom | point_bottom)
        if seen_before(state, i, own ^ side_hash(1 - seat, other_top ^ taken_top, other_bottom ^ taken_bottom)):
            open_top, open_bottom = open_top ^ point_top, open_bottom ^ point_bottom
    state.open[i, 0] = open_top
    state.open[i, 1] = open_bottom


@kernel
def reset(state, i):
    """Start with an empty board."""
    begin_episode(state, i)
    for word in range(2):
        for seat in range(2):
            for age in range(POSITIONS):
                state.stones[i, age, seat, word] = 0
            state.lost[i, seat, word] = 0
            state.owned[i, seat, word] = 0
        state.open[i, word] = state.board[word]
    # only those that were written
    for k in range(int(state.positions[i])):
        state.hashes[i, k] = 0
    state.positions[i] = 0
    state.moves[i] = 0
    state.passed[i] = 0
    state.last[i] = -1
    state.winner[i] = NOBODY
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def write_set(out, start, size, top, bottom):
    """Write a set as 0 and 1 to out[start:], row by row from the top."""
    for row in range(size):
        bits = (top if row < TOP_ROWS else bottom) >> (row % TOP_ROWS * PITCH)
        first = start + row * size
        if size == LARGEST:  # a loop that the compiler unrolls: observations took twice the time without it
            for column in range(LARGEST):
                out[first + column] = (bits >> column) & 1
        else:
            for column in range(size):
                out[first + column] = (bits >> column) & 1


@kernel
def legal(state, i, seat, mask):
    """The open points, and the pass behind them."""
    size = int(state.rules[SIZE])
    write_set(mask, 0, size, int(state.open[i, 0]), int(state.open[i, 1]))
    mask[size * size] = True


@kernel
def place(state, i, seat, point):
    """Put a stone of `seat` on the board, take the chains without liberties off it, and note the position."""
    row, column = point // int(state.rules[SIZE]), point % int(state.rules[SIZE])
    bit = 1 << (row % TOP_ROWS * PITCH + column)
    top, bottom = (bit, 0) if row < TOP_ROWS else (0, bit)
    own_top, own_bottom = int(state.stones[i, 0, seat, 0]) | top, int(state.stones[i, 0, seat, 1]) | bottom
    other_top, other_bottom = int(state.stones[i, 0, 1 - seat, 0]), int(state.stones[i, 0, 1 - seat, 1])
    empty_top = int(state.board[0]) & ~(own_top | other_top)
    empty_bottom = int(state.board[1]) & ~(own_bottom | other_bottom)
    taken_top, taken_bottom = captured(top, bottom, other_top, other_bottom, empty_top, empty_bottom)
    other_top, other_bottom = other_top ^ taken_top, other_bottom ^ taken_bottom
    state.stones[i, 0, seat, 0], state.stones[i, 0, seat, 1] = own_top, own_bottom
    state.stones[i, 0, 1 - seat, 0], state.stones[i, 0, 1 - seat, 1] = other_top, other_bottom
    state.lost[i, 1 - seat, 0] = int(state.lost[i, 1 - seat, 0]) | taken_top
    state.lost[i, 1 - seat, 1] = int(state.lost[i, 1 - seat, 1]) | taken_bottom
    known = int(state.positions[i])
    state.hashes[i, known] = side_hash(seat, own_top, own_bottom) ^ side_hash(1 - seat, other_top, other_bottom)
    state.positions[i] = known + 1


@kernel
def count(points):
    """Number of points in `top` or `bottom`."""
    # the sum of bits in pairs, then of pairs in fours, and so on
    pairs = points - ((points >> 1) & 0x5555555555555555)
    fours = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    eights = (fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F
    halves = eights + (eights >> 32)
    halves = halves + (halves >> 16)
    return (halves + (halves >> 8)) & 0x7F


@kernel
def finish(state, i):
    """Count the areas and pay the seat that has more: seat 0 needs more points than seat 1's and the komi."""
    occupied_top = int(state.stones[i, 0, 0, 0]) | int(state.stones[i, 0, 1, 0])
    occupied_bottom = int(state.stones[i, 0, 0, 1]) | int(state.stones[i, 0, 1, 1])
    empty_top, empty_bottom = int(state.board[0]) & ~occupied_top, int(state.board[1]) & ~occupied_bottom
    for seat in range(2):
        top, bottom = int(state.stones[i, 0, seat, 0]), int(state.stones[i, 0, seat, 1])
        state.owned[i, seat, 0], state.owned[i, seat, 1] = flood(top, bottom, empty_top, empty_bottom)
    # komi may be half a point: margins are doubled
    double_margin = -int(state.rules[DOUBLE_KOMI])
    for word in range(2):
        both = int(state.owned[i, 0, word]) & int(state.owned[i, 1, word])  # these empty points are nobody's
        for seat in range(2):
            area = int(state.owned[i, seat, word]) ^ both
            state.owned[i, seat, word] = area
            double_margin += 2 * count(area) if seat == 0 else -2 * count(area)
    if double_margin != 0:
        winner = 0 if double_margin > 0 else 1
        state.winner[i] = winner
        state.rewards[i, winner] = 1
        state.rewards[i, 1 - winner] = -1
    state.terminated[i] = True


@kernel
def step(state, i, action):
    """Place a stone or pass. The game ends with the second pass in a row or the last move: 1 for the larger area, -1 for the other."""
    seat, point, moves = int(state.to_move[i]), int(action), int(state.moves[i]) + 1
    passes = point == int(state.rules[SIZE]) * int(state.rules[SIZE])
    over = moves == int(state.rules[LIMIT]) or (passes and int(state.passed[i]) == 1)
    # the oldest first, so that nothing is overwritten before it is copied
    for age in (2, 1):
        for whose in range(2):
            for word in range(2):
                state.stones[i, age, whose, word] = state.stones[i, age - 1, whose, word]
    if not passes:
        place(state, i, seat, point)
    state.passed[i] = 1 if passes else 0
    state.moves[i] = moves
    state.last[i] = point
    state.to_move[i] = 1 - seat
    if over:
        finish(state, i)
    else:
        find_open(state, i, 1 - seat)


@kernel
def observe(state, i, seat, out):
    """Planes of size x size bits, see `PLANES`. `forbidden` are the empty points where the seat to move may not play."""
    size = int(state.rules[SIZE])
    points = size * size
    for age in range(POSITIONS):
        for whose in range(2):
            owner = seat if whose == 0 else 1 - seat
            top, bottom = int(state.stones[i, age, owner, 0]), int(state.stones[i, age, owner, 1])
            write_set(out, (2 * age + whose) * points, size, top, bottom)
    if seat == int(state.to_move[i]) and not state.terminated[i]:
        top = int(state.stones[i, 0, 0, 0]) | int(state.stones[i, 0, 1, 0]) | int(state.open[i, 0])
        bottom = int(state.stones[i, 0, 0, 1]) | int(state.stones[i, 0, 1, 1]) | int(state.open[i, 1])
        write_set(out, FORBIDDEN * points, size, int(state.board[0]) & ~top, int(state.board[1]) & ~bottom)
    for k in range(points):
        out[SEAT * points + k] = seat
        out[PASSED * points + k] = int(state.passed[i])


def consistent(state: State) -> NDArray[np.bool_]:
    """(N,) no point holds two stones, a running game has moves left, and its open points are empty."""
    stones, taken, moves = (np.asarray(part) for part in (state.stones, state.open, state.moves))
    single = (stones[:, :, 0] & stones[:, :, 1] == 0).all(axis=(1, 2))
    empty = ((stones[:, 0, 0] | stones[:, 0, 1]) & taken == 0).all(axis=1)
    running = ~np.asarray(state.terminated)
    left = moves < int(np.asarray(state.rules)[LIMIT])
    sound: NDArray[np.bool_] = single & (np.asarray(state.positions) <= moves) & (~running | (left & empty))
    return sound
