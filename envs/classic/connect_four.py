"""Connect Four: four in a row on 6 rows and 7 columns, where stones fall to the lowest free place of their column.

The stones of a seat are the bits of an integer, seven per column from the bottom up: bit 7 * column + height. The seventh bit of a
column stays empty, so that a shift does not carry a line from one column into the next. Solved by Allen and Allis (1988): the first
seat wins, beginning in the middle.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.chance import begin_episode
from ludory.envs.engine.protocol import on_host
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Analysis, Field, Kernels, Rules, State, Symmetry, header

from .boards import NOBODY, SquareBoard, board_codec, board_look

ROWS, COLUMNS = 6, 7
CELLS = ROWS * COLUMNS
BITS = ROWS + 1
"""Bits per column."""
FULL_COLUMN = (1 << ROWS) - 1


@kernel
def reset(state, i):
    """Start with an empty board."""
    begin_episode(state, i)
    state.stones[i, 0] = 0
    state.stones[i, 1] = 0
    state.last[i] = -1
    state.winner[i] = NOBODY
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def height(occupied, column):
    """Number of stones in a column."""
    filled, count = (occupied >> (column * BITS)) & FULL_COLUMN, 0
    while filled & 1:
        filled >>= 1
        count += 1
    return count


@kernel
def legal(state, i, seat, mask):
    """Every column with a free place."""
    occupied = int(state.stones[i, 0]) | int(state.stones[i, 1])
    for column in range(COLUMNS):
        mask[column] = (occupied >> (column * BITS + ROWS - 1)) & 1 == 0


@kernel
def has_four(stones):
    """True if four stones are in a row: upwards, across, or on one of the diagonals."""
    # to the place above, to the right, and to the right below or above
    for distance in (1, BITS, BITS - 1, BITS + 1):
        # pairs of neighbours, then pairs of these
        pairs = stones & (stones >> distance)
        if pairs & (pairs >> (2 * distance)):
            return True
    return False


@kernel
def step(state, i, action):
    """Drop a stone: 1 for four in a row and -1 for the other seat; 0 for both if the board is full."""
    seat, column = int(state.to_move[i]), int(action)
    occupied = int(state.stones[i, 0]) | int(state.stones[i, 1])
    stone = 1 << (column * BITS + height(occupied, column))
    own, occupied = int(state.stones[i, seat]) | stone, occupied | stone
    state.stones[i, seat] = own
    state.last[i] = column
    if has_four(own):
        state.rewards[i, seat] = 1
        state.rewards[i, 1 - seat] = -1
        state.winner[i] = seat
        state.terminated[i] = True
    else:
        full = True
        for other in range(COLUMNS):
            full = full and (occupied >> (other * BITS + ROWS - 1)) & 1 == 1
        state.terminated[i] = full
    state.to_move[i] = 1 - seat


@kernel
def observe(state, i, seat, out):
    """Two planes, rows from the top: the own stones, the other seat's stones."""
    own, other = int(state.stones[i, seat]), int(state.stones[i, 1 - seat])
    for column in range(COLUMNS):
        for row in range(ROWS):
            bit, cell = column * BITS + ROWS - 1 - row, row * COLUMNS + column
            out[cell] = (own >> bit) & 1
            out[CELLS + cell] = (other >> bit) & 1


def board(state: State, i: int) -> NDArray[np.int64]:
    """(42,) the cells from the top left: 0 empty, 1 a stone of seat 0, 2 one of seat 1."""
    stones = on_host(state.stones[i]).astype(np.int64)
    rows, columns = np.divmod(np.arange(CELLS), COLUMNS)
    bits = columns * BITS + ROWS - 1 - rows
    cells: NDArray[np.int64] = (stones[0] >> bits & 1) + 2 * (stones[1] >> bits & 1)
    return cells


def cell_of_last(state: State, i: int) -> int:
    """The cell of the last stone, the highest of its column; -1 before the first."""
    column = int(state.last[i])
    if column < 0:
        return -1
    above = board(state, i).reshape(ROWS, COLUMNS)[:, column] == 0
    return int(above.sum()) * COLUMNS + column


def consistent(state: State) -> NDArray[np.bool_]:
    """(N,) stones lie on each other without gaps, and no place holds two."""
    stones: Any = np.asarray(state.stones)
    occupied, ok = stones[:, 0] | stones[:, 1], (stones[:, 0] & stones[:, 1]) == 0
    for column in range(COLUMNS):
        filled = occupied >> (column * BITS) & ((1 << BITS) - 1)
        # ones from the bottom up, without a gap
        ok &= (filled & (filled + 1) == 0) & (filled <= FULL_COLUMN)
    result: NDArray[np.bool_] = ok
    return result


BOARD = SquareBoard(
    title="Connect Four",
    rows=ROWS,
    columns=COLUMNS,
    marks="xo",
    action_names=tuple(f"column {column + 1}" for column in range(COLUMNS)),
    instruction=(
        "You are playing Connect Four on a board of 6 rows and 7 columns. Seat 0 has the stones x and moves first, seat 1 has "
        "the stones o. On your turn, drop a stone into a column that is not full; it falls to the lowest free place. Whoever has "
        "four stones in a row, upwards, across or on a diagonal, wins; a full board without four in a row is a draw.\n"
        'Columns have the numbers 1 to 7 from the left. Answer with a column, such as "column 4".'
    ),
    cells=board,
    cell_of_last=cell_of_last,
    discs=True,
)


def draw_symmetry(generator: np.random.Generator) -> Symmetry:
    """The board as it is, or its mirror image."""
    columns = np.arange(COLUMNS)[:: -1 if generator.integers(2) else 1]
    cells = np.arange(CELLS).reshape(ROWS, COLUMNS)[:, columns].ravel()
    # the actions are the inverse: where a column goes
    return Symmetry(np.concatenate([cells, CELLS + cells]), np.argsort(columns))


def make_game() -> Game:
    """Make Connect Four."""
    facts = GameFacts(
        name="Connect Four",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=False,
        heads=(Head("column", COLUMNS),),
        observation=ObservationSpec(
            "planes", (2, ROWS, COLUMNS), "uint8", flat_segments({"own": CELLS, "other": CELLS})
        ),
        longest_game=CELLS,
        min_return=-1,
        max_return=1,
    )
    fields = {
        "stones": Field("int64", (2,), low=0, high=(1 << (BITS * COLUMNS)) - 1),
        "winner": Field("int8", (), NOBODY, low=NOBODY, high=1),
        "last": Field("int8", (), -1, low=-1, high=COLUMNS - 1),
    }
    return Game(
        facts,
        Rules(fields=header(players=2) | fields, kernels=Kernels(reset, step, legal, observe), consistent=consistent),
        look=board_look(BOARD),
        language=board_codec(BOARD),
        analysis=Analysis(symmetry=draw_symmetry),
    )
