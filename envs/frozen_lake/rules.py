"""FrozenLake's rules: state, and kernels for reset, step, masks and observations.

A cell index is row * N + column, from the top left. Actions and directions: 0 left, 1 down, 2 right, 3 up.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs import Field, begin_episode, draw, header, kernel

ICE, START, HOLE, GOAL = 0, 1, 2, 3
"""Codes of the cells of a map."""
LEFT, DOWN, RIGHT, UP = 0, 1, 2, 3
DIRECTIONS = ("Left", "Down", "Right", "Up")
ALL = 3 << 28
"""Probabilities are whole numbers out of this one, which 3 divides: a third is exact."""

# Columns of `setup`, constant within a game.
ICE_SHARE, INTENDED, LIMIT, BANK = 0, 1, 2, 3


def fields(size: int, ice: float, success_rate: float, max_steps: int, rooms: int) -> dict[str, Field]:
    """The fields of a lake of N x N cells; `rooms`: number of maps in the bank, 0 if maps are drawn anew."""
    cells = size * size
    setup = (round(ice * ALL), round(success_rate * ALL), max_steps, rooms)
    return header(1) | {
        "setup": Field("int32", (4,), setup, low=setup, high=setup),
        "bank": Field("int8", (max(rooms, 1), size, size), low=ICE, high=GOAL, shared=True),
        # The map comes from a reset option, and so does the player's cell (-1: the start); the reset clears both.
        "given": Field("int8", low=0, high=0),
        "given_player": Field("int16", (), -1, low=-1, high=-1),
        "cells": Field("int8", (size, size), low=ICE, high=GOAL),
        "reached": Field("int8", (size, size), low=0, high=1),  # working memory of `goal_is_reached`
        "player": Field("int16", low=0, high=cells - 1),
        "steps": Field("int32", low=0, high=max_steps),
        "effective": Field("int8", low=0, high=1),  # the last action changed the cell
        "last": Field("int8", (2,), -1, low=-1, high=UP),  # last action, and the direction that came of it
    }


@kernel
def neighbour(cell, direction, size):
    """The cell index one step ahead; the same cell at the edge of the board."""
    row, column = cell // size, cell % size
    if direction == LEFT:
        column = max(column - 1, 0)
    elif direction == DOWN:
        row = min(row + 1, size - 1)
    elif direction == RIGHT:
        column = min(column + 1, size - 1)
    else:
        row = max(row - 1, 0)
    return row * size + column


@kernel
def goal_is_reached(state, i, start):
    """True if a path over ice leads from the cell `start` to the goal: the cells in reach grow until none is added."""
    size = state.cells.shape[1]
    for row in range(size):
        for column in range(size):
            state.reached[i, row, column] = 0
    state.reached[i, start // size, start % size] = 1
    grew = True
    while grew:
        grew = False
        for cell in range(size * size):
            row, column = cell // size, cell % size
            if int(state.reached[i, row, column]) == 0 or int(state.cells[i, row, column]) == HOLE:
                continue
            for direction in range(4):
                other = neighbour(cell, direction, size)
                row_of, column_of = other // size, other % size
                if int(state.reached[i, row_of, column_of]) == 0 and int(state.cells[i, row_of, column_of]) != HOLE:
                    state.reached[i, row_of, column_of] = 1
                    grew = True
                    if int(state.cells[i, row_of, column_of]) == GOAL:
                        return True
    return False


@kernel
def draw_map(state, i):
    """Draw cells, start and goal until the goal can be reached; returns the start."""
    size = state.cells.shape[1]
    while True:
        for row in range(size):
            for column in range(size):
                state.cells[i, row, column] = ICE if draw(state, i, ALL) < int(state.setup[i, ICE_SHARE]) else HOLE
        start = draw(state, i, size * size)
        # one of the other cells
        goal = draw(state, i, size * size - 1)
        if goal >= start:
            goal += 1
        state.cells[i, start // size, start % size] = START
        state.cells[i, goal // size, goal % size] = GOAL
        if goal_is_reached(state, i, start):
            return start


@kernel
def start_cell(state, i):
    """Index of the start of the map."""
    size = state.cells.shape[1]
    for cell in range(size * size):
        if int(state.cells[i, cell // size, cell % size]) == START:
            return cell
    return 0


@kernel
def reset(state, i):
    """Draw a map, or take one from the bank or from a reset option; the player stands on its start."""
    begin_episode(state, i)
    size, rooms = state.cells.shape[1], int(state.setup[i, BANK])
    if int(state.given[i]) == 1:
        player = start_cell(state, i)
    elif rooms > 0:
        room = draw(state, i, rooms)
        for row in range(size):
            for column in range(size):
                state.cells[i, row, column] = state.bank[room, row, column]
        player = start_cell(state, i)
    else:
        player = draw_map(state, i)
    if int(state.given_player[i]) >= 0:
        player = int(state.given_player[i])
    state.player[i] = player
    state.given[i] = 0
    state.given_player[i] = -1
    state.steps[i] = 0
    state.effective[i] = 0
    state.last[i, 0] = -1
    state.last[i, 1] = -1
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def slipped(state, i, action):
    """The direction that comes of an action: itself, or one of the two perpendicular ones, which are equally likely."""
    intended = int(state.setup[i, INTENDED])
    drawn = draw(state, i, ALL)
    if drawn < intended:
        return action
    # directions go round: the ones beside it are perpendicular
    if drawn < intended + (ALL - intended) // 2:
        return (action + 3) % 4
    return (action + 1) % 4


@kernel
def step(state, i, action):
    """Move, perhaps in another direction; 1 for the goal, the end on goal or hole."""
    size, cell = state.cells.shape[1], int(state.player[i])
    direction = slipped(state, i, int(action))
    there = neighbour(cell, direction, size)
    found = int(state.cells[i, there // size, there % size])
    state.player[i] = there
    state.effective[i] = 1 if there != cell else 0
    state.last[i, 0] = action
    state.last[i, 1] = direction
    state.steps[i] += 1
    state.rewards[i, 0] = 1 if found == GOAL else 0
    state.terminated[i] = found in (GOAL, HOLE)
    state.truncated[i] = not state.terminated[i] and int(state.steps[i]) >= int(state.setup[i, LIMIT])


@kernel
def legal(state, i, seat, mask):
    """Every direction is always allowed."""
    for direction in range(4):
        mask[direction] = True


@kernel
def observe_planes(state, i, seat, out):
    """Bits [4, N, N]: holes, goal, player, start."""
    size = state.cells.shape[1]
    for cell in range(size * size):
        code = int(state.cells[i, cell // size, cell % size])
        out[cell] = code == HOLE
        out[size * size + cell] = code == GOAL
        out[3 * size * size + cell] = code == START
    out[2 * size * size + int(state.player[i])] = 1


@kernel
def drawn_code(state, i, cell):
    """What is drawn on a cell: 0 ice, 1 start, 2 hole, 3 goal, 4 player, 5 player in a hole, 6 player on the goal."""
    size = state.cells.shape[1]
    code = int(state.cells[i, cell // size, cell % size])
    if int(state.player[i]) != cell:
        return code
    return 5 if code == HOLE else 6 if code == GOAL else 4


@kernel
def observe_codes(state, i, seat, out):
    """Codes [N, N] of `drawn_code`."""
    size = state.cells.shape[1]
    for cell in range(size * size):
        out[cell] = drawn_code(state, i, cell)
