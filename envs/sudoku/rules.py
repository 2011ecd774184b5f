"""Sudoku's rules: state, and kernels for reset, step, masks and observations.

Action (row * N + column) * N + value - 1 places a value; rows and columns are counted from 0 at the top left.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from ludory.envs import Field, begin_episode, draw, header, kernel

DEFAULT, RAGEN2, SPA = 0, 1, 2
"""Rewards; see `REWARDS` in `ludory.envs.sudoku`."""
# Columns of `setup`, constant within a game.
PAYS, LIMIT, HARD_LIMIT, MASKED, BOX, REORDER = 0, 1, 2, 3, 4, 5
REFUSED, ACCEPTED, OTHER = 0, 1, 2
"""Values of `outcome`: the last placement was refused, accepted, or accepted though the stored solution has another value there."""


def fields(
    size: int, pays: int, limit: int, hard_limit: int, masked: bool, rooms: int, reorder: bool
) -> dict[str, Field]:
    """The fields of N x N cells. rooms: number of puzzles in the bank; reorder: whether their rows and columns are shuffled."""
    setup = (pays, limit, hard_limit, int(masked), math.isqrt(size), int(reorder))
    grid, everything = (size, size), (1 << size) - 1
    return header(1) | {
        "setup": Field("int32", (6,), setup, low=setup, high=setup),
        # Puzzle and solution of each room, side by side.
        "bank": Field("int8", (rooms, 2, size, size), low=0, high=size, shared=True),
        # The puzzle comes from reset options, which wrote `codes` and `solution`; the reset clears it.
        "chosen": Field("int8", low=0, high=0),
        "codes": Field("int8", grid, low=0, high=size),  # 0: blank
        "solution": Field("int8", grid, 1, low=1, high=size),
        "given": Field("int8", grid, low=0, high=1),
        # Bit v - 1: the value v stands in the row, column or box.
        "in_row": Field("int32", (size,), low=0, high=everything),
        "in_column": Field("int32", (size,), low=0, high=everything),
        "in_box": Field("int32", (size,), low=0, high=everything),
        # Working memory: new names of the values of a puzzle, and the order of its rows and columns.
        "names": Field("int8", (size,), 1, low=1, high=size),
        "order": Field("int8", (2, size), low=0, high=size - 1),
        "blanks": Field("int16", low=0, high=size * size),
        "steps": Field("int32", low=0, high=hard_limit),
        "outcome": Field("int8", low=REFUSED, high=OTHER),
        "last": Field("int32", (), -1, low=-1, high=size**3 - 1),  # the last action
    }


@kernel
def box_of(row, column, box):
    """Number of the box of a cell; boxes have `box` rows and columns."""
    return row // box * box + column // box


@kernel
def swap_lines(state, i, axis, one, other):
    """Swap two entries of `order`."""
    kept = int(state.order[i, axis, one])
    state.order[i, axis, one] = state.order[i, axis, other]
    state.order[i, axis, other] = kept


@kernel
def draw_order(state, i, axis, box):
    """Draw an order of the rows (axis 0) or columns (1) in which those of a band (or stack) stay together."""
    for k in range(box * box):
        state.order[i, axis, k] = k
    for band in range(box - 1, 0, -1):
        other = draw(state, i, band + 1)
        for k in range(box):
            swap_lines(state, i, axis, band * box + k, other * box + k)
    for band in range(box):
        for k in range(box - 1, 0, -1):
            swap_lines(state, i, axis, band * box + k, band * box + draw(state, i, k + 1))


@kernel
def draw_names(state, i):
    """Draw new names of the values."""
    size = state.names.shape[1]
    for value in range(size):
        state.names[i, value] = value + 1
    for k in range(size - 1, 0, -1):
        other = draw(state, i, k + 1)
        name = int(state.names[i, k])
        state.names[i, k] = state.names[i, other]
        state.names[i, other] = name


@kernel
def take_from_bank(state, i):
    """Draw a room, new names for its values and, unless its hash has to stay the same, another order of rows and columns."""
    size, box = state.codes.shape[1], int(state.setup[i, BOX])
    room = draw(state, i, state.bank.shape[0])
    draw_names(state, i)
    for axis in range(2):
        for k in range(size):
            state.order[i, axis, k] = k
        if int(state.setup[i, REORDER]) == 1:
            draw_order(state, i, axis, box)
    for row in range(size):
        for column in range(size):
            r, c = int(state.order[i, 0, row]), int(state.order[i, 1, column])
            value = int(state.bank[room, 0, r, c])
            state.codes[i, row, column] = int(state.names[i, value - 1]) if value > 0 else 0
            state.solution[i, row, column] = state.names[i, int(state.bank[room, 1, r, c]) - 1]


@kernel
def toggle(state, i, row, column, value):
    """Note in the three bit sets that a value is placed or removed."""
    bit = 1 << (value - 1)
    box = box_of(row, column, int(state.setup[i, BOX]))
    state.in_row[i, row] = int(state.in_row[i, row]) ^ bit
    state.in_column[i, column] = int(state.in_column[i, column]) ^ bit
    state.in_box[i, box] = int(state.in_box[i, box]) ^ bit


@kernel
def reset(state, i):
    """Show a puzzle: from reset options, or drawn from the bank."""
    begin_episode(state, i)
    size = state.codes.shape[1]
    if int(state.chosen[i]) == 0:
        take_from_bank(state, i)
    for k in range(size):
        state.in_row[i, k] = 0
        state.in_column[i, k] = 0
        state.in_box[i, k] = 0
    blanks = 0
    for row in range(size):
        for column in range(size):
            value = int(state.codes[i, row, column])
            state.given[i, row, column] = 1 if value > 0 else 0
            if value > 0:
                toggle(state, i, row, column, value)
            else:
                blanks += 1
    state.chosen[i] = 0
    state.blanks[i] = blanks
    state.steps[i] = 0
    state.outcome[i] = REFUSED
    state.last[i] = -1
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def taken_values(state, i, row, column):
    """Bit set of the values that the cell or one of its peers has."""
    box = box_of(row, column, int(state.setup[i, BOX]))
    return int(state.in_row[i, row]) | int(state.in_column[i, column]) | int(state.in_box[i, box])


@kernel
def is_accepted(state, i, row, column, value):
    """True if the cell is not given, and neither it nor a peer has the value; entries of one's own may be overwritten."""
    if int(state.given[i, row, column]) == 1:
        return False
    return (taken_values(state, i, row, column) >> (value - 1)) & 1 == 0


@kernel
def place(state, i, row, column, value):
    """Write an accepted value."""
    before = int(state.codes[i, row, column])
    if before > 0:
        toggle(state, i, row, column, before)
    else:
        state.blanks[i] -= 1
    toggle(state, i, row, column, value)
    state.codes[i, row, column] = value


@kernel
def reward_of(pays, outcome, solved):
    """What a placement pays, by the kind of rewards."""
    if pays == RAGEN2:
        reward = 1.0 if outcome == ACCEPTED else 0.5 if outcome == OTHER else -0.1
        return reward + 10.0 if solved else reward
    if pays == SPA:
        return 1.0 if solved else 0.0
    return 10.0 if solved else -0.1 if outcome == REFUSED else 0.0


@kernel
def step(state, i, action):
    """Place a value if that is accepted; the game ends when the grid is full, which makes it consistent, or at the step limit."""
    size = state.codes.shape[1]
    cell, value = int(action) // size, int(action) % size + 1
    row, column = cell // size, cell % size
    outcome = REFUSED
    if is_accepted(state, i, row, column, value):
        place(state, i, row, column, value)
        outcome = ACCEPTED if int(state.solution[i, row, column]) == value else OTHER
    solved = int(state.blanks[i]) == 0
    state.outcome[i] = outcome
    state.last[i] = action
    state.steps[i] += 1
    pays, steps = int(state.setup[i, PAYS]), int(state.steps[i])
    state.rewards[i, 0] = reward_of(pays, outcome, solved)
    # with these rewards a refused placement does not end the game before the hard limit
    late = steps >= int(state.setup[i, LIMIT]) and (pays != RAGEN2 or outcome != REFUSED)
    state.terminated[i] = solved
    state.truncated[i] = not solved and (late or steps >= int(state.setup[i, HARD_LIMIT]))


@kernel
def legal(state, i, seat, mask):
    """Accepted placements, all if there is none; or all, where the game has no mask."""
    size, found = state.codes.shape[1], False
    for cell in range(size * size if int(state.setup[i, MASKED]) == 1 else 0):
        row, column = cell // size, cell % size
        if int(state.given[i, row, column]) == 0:
            taken = taken_values(state, i, row, column)
            for value in range(size):
                if (taken >> value) & 1 == 0:
                    mask[cell * size + value] = True
                    found = True
    # a mask must have a legal action, also where the grid is stuck
    if not found:
        for action in range(size * size * size):
            mask[action] = True


@kernel
def observe_planes(state, i, seat, out):
    """Bits [N + 1, N, N]: where each value stands, and which cells are given."""
    size = state.codes.shape[1]
    for cell in range(size * size):
        row, column = cell // size, cell % size
        value = int(state.codes[i, row, column])
        if value > 0:
            out[(value - 1) * size * size + cell] = 1
        out[size * size * size + cell] = state.given[i, row, column]


@kernel
def observe_codes(state, i, seat, out):
    """Values [N, N], 0 where blank."""
    size = state.codes.shape[1]
    for cell in range(size * size):
        out[cell] = state.codes[i, cell // size, cell % size]


@kernel
def observe_given(state, i, seat, out):
    """Bits [2, N, N]: cells that are given, cells that are filled."""
    size = state.codes.shape[1]
    for cell in range(size * size):
        out[cell] = state.given[i, cell // size, cell % size]
        out[size * size + cell] = 1 if int(state.codes[i, cell // size, cell % size]) > 0 else 0
