"""`sudoku/solver`: fills a Sudoku by its solution."""

from __future__ import annotations

import numpy as np

from ludory.agents import Agent
from ludory.envs import Array, Engine, Game, Memory, on_host
from ludory.envs.sudoku.rules import step
from ludory.envs.sudoku.solver import solve_all
from ludory.errors import OptionError


class SudokuSolver(Agent):
    """Solves the grid as it stands and fills its first blank cell, so that it needs one action per blank.

    Where other players left entries that no solution has, it solves the given cells instead and corrects what can be corrected.
    """

    name = "sudoku/solver"

    def __init__(self, game: Game) -> None:
        if not game.has_kernel("step", step):
            raise OptionError(f"{self.name} plays Sudoku, got {game.name}; choose Sudoku4-v0 or Sudoku9-v0")

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`."""
        rows = on_host(rows)
        codes, given = (on_host(field)[rows].astype(np.int8) for field in (engine.state.codes, engine.state.given))
        counts, solutions = solve_all(codes, 1)
        lost = counts < 1
        if lost.any():
            solutions[lost] = solve_all(codes[lost] * given[lost], 1)[1]
        wanted = (solutions != codes).reshape(len(rows), -1)
        values, legal = solutions.reshape(len(rows), -1), on_host(engine.legal())[rows]
        cells, size = np.arange(wanted.shape[1]), codes.shape[-1]
        actions = cells * size + np.maximum(values, 1) - 1  # (m, cells)
        fitting = wanted & np.take_along_axis(legal, actions.astype(np.int64), axis=1)
        best: Array = np.where(
            fitting.any(axis=1), actions[np.arange(len(rows)), fitting.argmax(axis=1)], legal.argmax(axis=1)
        ).astype(np.int64)
        return best
