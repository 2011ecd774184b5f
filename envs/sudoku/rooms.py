"""Puzzles of Sudoku: drawn by seed and split, hashes, the bank, and reset options."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory import envs
from ludory.atomic import atomic_file
from ludory.envs import draw
from ludory.errors import OptionError

from .rules import draw_names, draw_order
from .solver import Grid, search, solve_all

KEYS = ("room", "puzzle", "solution")
TRIES = 1000
"""Puzzles that are drawn for one seed before a split counts as empty."""


@envs.kernel
def draw_grid(state, i, solution, box):
    """A complete grid: bands, stacks, rows, columns and values of the pattern (r b + r // b + c) mod N, shuffled."""
    size = box * box
    draw_order(state, i, 0, box)
    draw_order(state, i, 1, box)
    draw_names(state, i)
    for row in range(size):
        for column in range(size):
            r, c = int(state.order[i, 0, row]), int(state.order[i, 1, column])
            solution[row, column] = state.names[i, (r * box + r // box + c) % size]


@envs.kernel
def blank_cells(state, i, puzzle, wanted, unique, order, used, stack, box, scratch):
    """Blank cells in random order until `wanted` are blank, keeping one solution if `unique`; returns how many are."""
    size, blanks = box * box, 0
    for cell in range(size * size):
        order[cell] = cell
    for k in range(size * size - 1, 0, -1):
        other = draw(state, i, k + 1)
        cell = order[k]
        order[k] = order[other]
        order[other] = cell
    for cell in order:
        if blanks == wanted:
            break
        row, column = cell // size, cell % size
        value = int(puzzle[row, column])
        puzzle[row, column] = 0
        blanks += 1
        # two solutions are one too many: the search stops there
        if unique and search(puzzle, used, stack, box, 2, scratch) != 1:
            puzzle[row, column] = value
            blanks -= 1
    return blanks


@envs.batch_kernel
def draw_puzzles(draws, puzzles, solutions, wanted, unique, box, order, used, stack, scratch):
    """One puzzle with `wanted` blanks per row of `draws`; a grid in which too few cells can be blanked is drawn again."""
    size = box * box
    for k in range(len(puzzles)):
        blanks = -1
        while blanks != wanted[k]:
            draw_grid(draws, k, solutions[k], box)
            for row in range(size):
                for column in range(size):
                    puzzles[k, row, column] = solutions[k, row, column]
            blanks = blank_cells(draws, k, puzzles[k], int(wanted[k]), unique, order, used, stack, box, scratch)


def relabelled(puzzle: NDArray[Any]) -> NDArray[np.uint8]:
    """The puzzle with its values renamed 1, 2, ... in the order in which they first appear, row by row; blanks stay 0."""
    flat = np.asarray(puzzle).ravel()
    names = {0: 0}
    for value in flat.tolist():
        names.setdefault(value, len(names))
    return np.array([names[value] for value in flat.tolist()], np.uint8).reshape(np.shape(puzzle))


def puzzle_hash(puzzle: ArrayLike) -> int:
    """`ludory.envs.rooms.room_hash` of a puzzle [N, N]; puzzles that differ in the names of their values have the same."""
    return envs.room_hash([np.asarray(puzzle, np.uint8)], relabel=relabelled)


@dataclass(frozen=True)
class SudokuRooms:
    """Puzzles of N x N cells with a number of blanks, by seed and split; see `ludory.envs.Rooms`."""

    size: int
    blanks: int
    unique: bool
    fewest: int | None = None
    """Puzzles have any number of blanks from here to `blanks`, by their seed; None: all have `blanks`."""

    def draw(self, seeds: NDArray[np.int64], split: str | None = None) -> dict[str, NDArray[Any]]:
        """{"puzzle", "solution"}: int8 [n, N, N]. A seed stands for a sequence of puzzles; its first one in `split` is taken.

        Raises:
            OptionError: unknown split, or a seed without a puzzle of the split.
        """
        envs.check_split(split)
        shape = (len(seeds), self.size, self.size)
        puzzles, solutions, rows = np.zeros(shape, np.int8), np.zeros(shape, np.int8), np.arange(len(seeds))
        for attempt in range(TRIES):
            puzzles[rows], solutions[rows] = self._puzzles(np.asarray(seeds, np.int64)[rows], attempt)
            if split is not None:
                # those of other splits are drawn again
                rows = rows[envs.split_of(self.hashes({"puzzle": puzzles[rows]})) != envs.SPLITS.index(split)]
            if split is None or not len(rows):
                return {"puzzle": puzzles, "solution": solutions}
        raise OptionError(f"no puzzle of the split {split!r} in {TRIES} tries")

    def _puzzles(self, seeds: NDArray[np.int64], attempt: int) -> tuple[Grid, Grid]:
        """One puzzle per seed, with its solution."""
        size, cells, count = self.size, self.size**2, len(seeds)
        # The fields that the kernels of a state draw with. A record array, since plain Python cannot read a field of others by its name.
        shapes = [("random", np.int64, (4,)), ("names", np.int8, (size,)), ("order", np.int8, (2, size))]
        draws = np.zeros(count, np.dtype(shapes, align=True)).view(np.recarray)
        draws["random"][:, envs.KEY] = envs.hash_rows(envs.hash_rows(seeds, 0), attempt)
        puzzles = np.zeros((count, size, size), np.int8)
        solutions, scratch = np.zeros_like(puzzles), np.zeros((size, size), np.int8)
        order, used, stack = np.zeros(cells, np.int64), np.zeros((3, size), np.int64), np.zeros((cells, 2), np.int64)
        box = math.isqrt(size)
        draw_puzzles(draws, puzzles, solutions, self._wanted(seeds), self.unique, box, order, used, stack, scratch)
        return puzzles, solutions

    def _wanted(self, seeds: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,): blanks of the puzzle of each seed."""
        fewest = self.blanks if self.fewest is None else self.fewest
        draws = envs.hash_rows(seeds, 1).astype(np.uint64) % np.uint64(self.blanks - fewest + 1)
        return fewest + draws.astype(np.int64)

    def hashes(self, options: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
        """(n,) `puzzle_hash` of each of `options["puzzle"]`."""
        return np.array([puzzle_hash(puzzle) for puzzle in options["puzzle"]], np.uint64)


DRAWN = Path(__file__).with_name("drawn_puzzles.npz")
"""Banks of the registered games, as `write_drawn` writes them: a game can start before the code that draws puzzles is compiled."""


def bank_key(rooms: SudokuRooms, count: int, split: str | None) -> str:
    """Name of a bank in `DRAWN`."""
    blanks = rooms.blanks if rooms.fewest is None else f"{rooms.fewest}-{rooms.blanks}"
    return f"{rooms.size}_{blanks}_{rooms.unique}_{count}_{split}"


def draw_bank(rooms: SudokuRooms, count: int, split: str | None) -> NDArray[np.int8]:
    """The shared field `bank`: puzzles and solutions of the seeds 0..count-1, [count, 2, N, N]."""
    drawn = rooms.draw(np.arange(count), split)
    return np.stack([drawn["puzzle"], drawn["solution"]], axis=1)


def write_drawn(path: str | Path, several: Iterable[tuple[SudokuRooms, int]]) -> None:
    """Write the banks of several games without a split to one file, by `bank_key`: solutions, and a bit for each cell that is given."""
    parts: dict[str, Any] = {}
    for rooms, count in several:
        puzzles, solutions = draw_bank(rooms, count, None).swapaxes(0, 1)
        key = bank_key(rooms, count, None)
        parts |= {key: solutions, f"{key} given": np.packbits(puzzles > 0)}
    with atomic_file(path) as handle:
        np.savez_compressed(handle, **parts)


def read_drawn(path: str | Path, key: str) -> NDArray[np.int8] | None:
    """A bank that `write_drawn` wrote; None: the file has no such bank."""
    with np.load(path, allow_pickle=False) as file:
        if key not in file:
            return None
        solutions, given = file[key], file[f"{key} given"]
    known = np.unpackbits(given, count=solutions.size).reshape(solutions.shape)
    return np.stack([solutions * known.astype(np.int8), solutions], axis=1)


@cache
def _bank(rooms: SudokuRooms, count: int, split: str | None) -> NDArray[np.int8]:
    found = read_drawn(DRAWN, bank_key(rooms, count, split))
    return draw_bank(rooms, count, split) if found is None else found


class PuzzleBank(Mapping[str, NDArray[Any]]):
    """`Rules.shared` with `bank` int8 [count, 2, N, N], the puzzles of seeds 0, 1, ..., which are drawn when an engine needs them."""

    def __init__(self, rooms: SudokuRooms, count: int, split: str | None) -> None:
        self._rooms, self._count, self._split = rooms, count, split

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name != "bank":
            raise KeyError(name)
        return _bank(self._rooms, self._count, self._split)

    def __iter__(self) -> Iterator[str]:
        return iter(("bank",))

    def __len__(self) -> int:
        return 1


def start_fields(size: int, given: Mapping[str, Any], count: int) -> dict[str, NDArray[Any]]:
    """Field values for the next reset of `count` games.

    puzzle (or room): values with 0 for blanks, [N, N] for all games or [count, N, N]. solution: a complete grid likewise, which only
    rewards="ragen2" looks at; without it, the first one that the solver finds.

    Raises:
        OptionError: unknown key, wrong shape or value, no blank, no solution, or a solution that does not fit the puzzle.
    """
    envs.refuse_unknown("Sudoku", "reset option", given, KEYS)
    names = [name for name in ("puzzle", "room") if name in given]
    if len(names) != 1:
        raise OptionError(
            f"got the reset options {', '.join(given)}; give Sudoku one puzzle=, with or without solution="
        )
    puzzles = _grids(names[0], given[names[0]], size, count, 0)
    if not (puzzles == 0).any(axis=(1, 2)).all():
        game = int(np.flatnonzero((puzzles != 0).all(axis=(1, 2)))[0])
        raise OptionError(f"{names[0]}: game {game} has no blank, and would be over")
    if given.get("solution") is None:
        counts, solutions = solve_all(puzzles, 1)
        for game in np.flatnonzero(counts < 1).tolist():
            why = "has a value twice in a row, column or box" if counts[game] < 0 else "has no solution"
            raise OptionError(f"{names[0]}: game {game} {why}")
    else:
        solutions = _grids("solution", given["solution"], size, count, 1)
        fits = ((puzzles == 0) | (puzzles == solutions)).all(axis=(1, 2)) & (solve_all(solutions)[0] == 1)
        for game in np.flatnonzero(~fits).tolist():
            raise OptionError(f"solution: that of game {game} is not a solution of its {names[0]}")
    return {"codes": puzzles, "solution": solutions, "chosen": np.ones(count, np.int8)}


def _grids(name: str, given: Any, size: int, count: int, low: int) -> Grid:
    grids = envs.integer_array(name, given)
    if grids.shape not in ((size, size), (count, size, size)):
        raise OptionError(f"{name}: shape {grids.shape}, must be ({size}, {size}) or ({count}, {size}, {size})")
    if grids.size and not low <= grids.min() <= grids.max() <= size:
        raise OptionError(f"{name}: values are {low}..{size}, got {grids.min()}..{grids.max()}")
    return np.broadcast_to(grids, (count, size, size)).astype(np.int8)
