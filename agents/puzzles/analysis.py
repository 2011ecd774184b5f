"""Exact values of the moves of Sokoban, FrozenLake and Sudoku, for the analysis of their positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.analysis import Analyst, ExactSearch, Floats, GameAnalysis, MoveSearch, StudiedPosition, mover
from ludory.envs import Game, on_host
from ludory.envs.frozen_lake.rules import ALL, INTENDED, LIMIT
from ludory.envs.frozen_lake.rules import step as lake_step
from ludory.envs.frozen_lake.transitions import expected_values, optimal_values
from ludory.envs.sokoban.rules import step_move9, step_push4
from ludory.envs.sokoban.state import drawn_codes
from ludory.envs.sudoku.rules import step as sudoku_step
from ludory.envs.sudoku.solver import solve_all

from .sokoban_search import PushSearch

PLAN_STATES = 200_000
"""States after which the solver of Sokoban gives up."""


class Solution(NamedTuple):
    """Values of the legal moves of a puzzle."""

    values: Floats
    """(A,); -inf where no solution is left."""
    method: str
    unit: str
    line: tuple[str, ...] = ()
    """The best moves from here on, in words."""


Solve = Callable[[StudiedPosition, NDArray[np.int64]], Solution]


def solve_sokoban(position: StudiedPosition, moves: NDArray[np.int64]) -> Solution:
    """Minus the number of actions of a plan with the fewest pushes, from each move on."""
    # with nine actions 0 waits, and 1 to 4 are the ones that may push
    lengths, pushes_from = np.full(len(moves), -np.inf), 1 if position.game.facts.num_actions == 9 else 0
    search, plans = PushSearch(drawn_codes(position.engine.state, [0]), PLAN_STATES), list[NDArray[np.int8] | None]()
    for k, move in enumerate(moves):
        engine = position.engine.clone()
        engine.step(np.array([move]))
        plan = search.plan(drawn_codes(engine.state, [0])[0])
        plans.append(plan)
        if plan is not None:
            # the move itself counts too
            lengths[k] = -1.0 - len(plan)
    best = int(lengths.argmax())
    best_plan = plans[best]
    actions = [] if best_plan is None else [int(moves[best]), *(pushes_from + best_plan.astype(int)).tolist()]
    method = "solver: actions of the plan with the fewest pushes, as a negative number; -inf where none was found"
    return Solution(lengths, method, "actions", tuple(position.name(action) for action in actions))


def solve_lake(position: StudiedPosition, moves: NDArray[np.int64]) -> Solution:
    """The probability of reaching the goal with perfect play after each move."""
    state = position.engine.state
    setup = on_host(state.setup)[0]
    success_rate, left = int(setup[INTENDED]) / ALL, max(int(setup[LIMIT]) - int(on_host(state.steps)[0]), 1)
    room = on_host(state.cells)[0]
    # after the move one action less is left
    ahead = optimal_values(room[None], success_rate, left - 1)[0, left - 1]
    found = expected_values(room, success_rate, ahead, int(on_host(state.player)[0]))[moves]
    return Solution(found, "value iteration over the actions that are left, exact", "probability of the goal")


def solve_sudoku(position: StudiedPosition, moves: NDArray[np.int64]) -> Solution:
    """1 where a move agrees with the solution of the grid as it stands, else 0."""
    codes = on_host(position.engine.state.codes)[:1].astype(np.int8)
    counts, solutions = solve_all(codes, 1)
    size = codes.shape[-1]
    method = "solver: 1 for an entry of the solution"
    if counts[0] < 1:
        return Solution(np.zeros(len(moves)), f"{method}; the grid as it stands has none", "right or wrong")
    # a move is cell * size + digit - 1
    fits = solutions.reshape(-1)[moves // size] == moves % size + 1
    blanks = np.flatnonzero(codes.reshape(-1) == 0)
    plan = blanks * size + solutions.reshape(-1)[blanks] - 1
    return Solution(
        fits.astype(np.float64), method, "right or wrong", tuple(position.name(action) for action in plan.tolist())
    )


class PuzzleAnalysis(GameAnalysis, Analyst):
    """Solves a puzzle, unless another agent shall play on."""

    def __init__(self, game: Game, solve: Solve) -> None:
        super().__init__(game)
        self._solve = solve

    def analyst(self, agent: str | None, seats: Sequence[int] | None) -> Analyst | None:
        """Itself: there is nothing to follow."""
        return self if agent is None else None

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """The exact values."""
        seat = mover(position)
        moves = position.legal(seat)
        found = self._solve(position, moves)
        names = [position.name(move) for move in moves]
        return ExactSearch(seat, moves.tolist(), names, found.values, found.method, found.unit, found.line)


def analysis(game: Game) -> PuzzleAnalysis | None:
    """The analysis of Sokoban, FrozenLake or Sudoku; None for other rules."""
    solvers = (
        (step_push4, solve_sokoban),
        (step_move9, solve_sokoban),
        (lake_step, solve_lake),
        (sudoku_step, solve_sudoku),
    )
    return next((PuzzleAnalysis(game, solve) for step, solve in solvers if game.has_kernel("step", step)), None)
