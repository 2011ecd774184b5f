"""Tic-tac-toe: three in a row on 3 x 3 squares. Perfect play ends in a draw.

Square = 3 * row + column, from the top left. Seat 0 draws x and moves first.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ludory.envs.chance import begin_episode
from ludory.envs.facts import GameFacts, Head, ObservationSpec, flat_segments
from ludory.envs.game import Game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Analysis, Field, Kernels, Rules, Symmetry, header

from .boards import NOBODY, SquareBoard, board_codec, board_look

SIDE = 3
SQUARES = SIDE * SIDE
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
"""The rows, columns and diagonals."""


@kernel
def reset(state, i):
    """Start with an empty board."""
    begin_episode(state, i)
    for square in range(SQUARES):
        state.board[i, square] = 0
    state.last[i] = -1
    state.winner[i] = NOBODY
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Every empty square."""
    for square in range(SQUARES):
        mask[square] = int(state.board[i, square]) == 0


@kernel
def has_line(state, i, mark):
    """True if `mark` has three in a row."""
    for a, b, c in LINES:
        if int(state.board[i, a]) == mark and int(state.board[i, b]) == mark and int(state.board[i, c]) == mark:
            return True
    return False


@kernel
def step(state, i, action):
    """Mark a square: 1 for three in a row and -1 for the other seat; 0 for both if the board is full."""
    seat = int(state.to_move[i])
    state.board[i, action] = seat + 1
    state.last[i] = action
    empty = 0
    for square in range(SQUARES):
        if int(state.board[i, square]) == 0:
            empty += 1
    if has_line(state, i, seat + 1):
        state.rewards[i, seat] = 1
        state.rewards[i, 1 - seat] = -1
        state.winner[i] = seat
        state.terminated[i] = True
    elif empty == 0:
        state.terminated[i] = True
    state.to_move[i] = 1 - seat


@kernel
def observe(state, i, seat, out):
    """Two planes: the own marks, the other seat's marks."""
    for square in range(SQUARES):
        mark = int(state.board[i, square])
        if mark == seat + 1:
            out[square] = 1
        elif mark != 0:
            out[SQUARES + square] = 1


BOARD = SquareBoard(
    title="Tic-tac-toe",
    rows=SIDE,
    columns=SIDE,
    marks="xo",
    action_names=tuple(f"{column}{row}" for row in "123" for column in "abc"),
    instruction=(
        "You are playing tic-tac-toe on a board of 3 rows and 3 columns. Seat 0 marks squares with x and moves first, seat 1 "
        "marks them with o. On your turn, mark one empty square. Whoever has three marks in a row, in a column or on a "
        "diagonal wins; a full board without three in a row is a draw.\n"
        'A square is named by its column, a to c from the left, and its row, 1 to 3 from the top: "a1" is the top left '
        "corner. Answer with the name of a square."
    ),
    cells=lambda state, i: state.board[i],
    cell_of_last=lambda state, i: int(state.last[i]),
)


def draw_symmetry(generator: np.random.Generator) -> Symmetry:
    """One of the eight rotations and reflections of the board."""
    board = np.rot90(np.arange(SQUARES).reshape(SIDE, SIDE), int(generator.integers(4)))
    squares = (board.T if generator.integers(2) else board).ravel()
    # the observation says where a place comes from, the actions where it goes: the inverse
    return Symmetry(np.concatenate([squares, SQUARES + squares]), np.argsort(squares))


def make_game() -> Game:
    """Make tic-tac-toe."""
    facts = GameFacts(
        name="Tic-tac-toe",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=False,
        heads=(Head("square", SQUARES),),
        observation=ObservationSpec(
            "planes", (2, SIDE, SIDE), "uint8", flat_segments({"own": SQUARES, "other": SQUARES})
        ),
        longest_game=SQUARES,
        min_return=-1,
        max_return=1,
    )
    fields = {
        "board": Field("int8", (SQUARES,), low=0, high=2),
        "winner": Field("int8", (), NOBODY, low=NOBODY, high=1),
        "last": Field("int8", (), -1, low=-1, high=SQUARES - 1),
    }
    return Game(
        facts,
        Rules(header(players=2) | fields, Kernels(reset, step, legal, observe)),
        look=board_look(BOARD),
        language=board_codec(BOARD),
        analysis=Analysis(symmetry=draw_symmetry),
    )
