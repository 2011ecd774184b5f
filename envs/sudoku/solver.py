"""Sudoku's solver: depth-first search over bit sets that always branches at a cell with the fewest candidates."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.envs import batch_kernel, kernel
from ludory.errors import OptionError

from .rules import box_of

Grid = NDArray[np.int8]


@kernel
def bits_in(word):
    """Number of bits of a non-negative integer."""
    count = 0
    while word != 0:
        word &= word - 1
        count += 1
    return count


@kernel
def enter(grid, used, size, box, row, column, value):
    """Write `value` (0: take the value out); `used` [3, N] are the bit sets of rows, columns and boxes."""
    # what goes in or out: one of the two is 0
    bit = 1 << (max(int(grid[row, column]), value) - 1)
    used[0, row] ^= bit
    used[1, column] ^= bit
    used[2, box_of(row, column, box)] ^= bit
    grid[row, column] = value


@kernel
def fill_sets(grid, used, size, box):
    """Compute the bit sets of a grid; False if a value stands twice in a row, column or box."""
    for kind in range(3):
        for k in range(size):
            used[kind, k] = 0
    for row in range(size):
        for column in range(size):
            value = int(grid[row, column])
            if value > 0:
                bit, at = 1 << (value - 1), box_of(row, column, box)
                if (used[0, row] | used[1, column] | used[2, at]) & bit != 0:
                    return False
                used[0, row] |= bit
                used[1, column] |= bit
                used[2, at] |= bit
    return True


@kernel
def narrowest(grid, used, size, box):
    """The blank cell with the fewest candidates; -1 if no cell is blank."""
    best, fewest, full = -1, size + 1, (1 << size) - 1
    for cell in range(size * size):
        row, column = cell // size, cell % size
        if int(grid[row, column]) == 0:
            taken = used[0, row] | used[1, column] | used[2, box_of(row, column, box)]
            count = bits_in(full & ~taken)
            if count < fewest:
                best, fewest = cell, count
                # a cell without candidates, or with one, cannot be bettered
                if count <= 1:
                    return best
    return best


@kernel
def search(grid, used, stack, box, most, solution):
    """Count the completions of `grid`, which is left as it was, up to `most`; the first one is copied to `solution`.

    used int64 [3, N], stack int64 [N * N, 2]: working memory. -1: the grid contradicts itself.
    """
    size = grid.shape[0]
    if not fill_sets(grid, used, size, box):
        return -1
    found, depth, full = 0, 0, (1 << size) - 1
    cell = narrowest(grid, used, size, box)
    if cell < 0:
        for k in range(size * size):
            solution[k // size, k % size] = grid[k // size, k % size]
        return 1
    stack[0, 0] = cell
    stack[0, 1] = full & ~(
        used[0, cell // size] | used[1, cell % size] | used[2, box_of(cell // size, cell % size, box)]
    )
    while depth >= 0:
        row, column = stack[depth, 0] // size, stack[depth, 0] % size
        # back at this cell: the value that was tried comes out
        if int(grid[row, column]) > 0:
            enter(grid, used, size, box, row, column, 0)
        left = stack[depth, 1]
        if left == 0 or found >= most:
            depth -= 1
            continue
        # the lowest candidate now, the others later
        bit = left & -left
        stack[depth, 1] = left & ~bit
        # the number of a bit is how many there are below it
        enter(grid, used, size, box, row, column, bits_in(bit - 1) + 1)
        cell = narrowest(grid, used, size, box)
        if cell < 0:
            if found == 0:
                for k in range(size * size):
                    solution[k // size, k % size] = grid[k // size, k % size]
            found += 1
            continue
        depth += 1
        row, column = cell // size, cell % size
        stack[depth, 0] = cell
        stack[depth, 1] = full & ~(used[0, row] | used[1, column] | used[2, box_of(row, column, box)])
    return found


@batch_kernel
def search_all(grids, counts, solutions, most, box, used, stack):
    """`search` for every grid [n, N, N]."""
    for k in range(len(grids)):
        counts[k] = search(grids[k], used, stack, box, most, solutions[k])


def solve_all(puzzles: ArrayLike, most: int = 2) -> tuple[NDArray[np.int64], Grid]:
    """Number of solutions of each puzzle [n, N, N], counted up to `most`, and the first solution of each.

    The number is -1 where a value stands twice in a row, column or box.
    """
    grids = np.array(puzzles, np.int8, order="C")
    size = grids.shape[-1]
    counts, solutions = np.zeros(len(grids), np.int64), np.zeros_like(grids)
    used, stack = np.zeros((3, size), np.int64), np.zeros((size * size, 2), np.int64)
    search_all(grids, counts, solutions, most, math.isqrt(size), used, stack)
    return counts, solutions


def count_solutions(puzzle: ArrayLike, most: int = 2) -> int:
    """Number of solutions of a puzzle [N, N] with 0 for blanks, counted up to `most`; 0 also where it contradicts itself."""
    return max(int(solve_all(np.asarray(puzzle)[None], most)[0][0]), 0)


def solve(puzzle: ArrayLike) -> Grid:
    """A solution int8 [N, N] of a puzzle with 0 for blanks.

    Raises:
        OptionError: it has none.
    """
    counts, solutions = solve_all(np.asarray(puzzle)[None], 1)
    if counts[0] < 1:
        raise OptionError("the puzzle has no solution; count_solutions(puzzle) tells how many there are")
    first: Grid = solutions[0]
    return first
