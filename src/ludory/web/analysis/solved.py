"""Analysts that solve: Sokoban, FrozenLake and Sudoku exactly, Texas 42 in worlds with open hands (E[Q])."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.puzzles.sokoban_search import PushSearch
from ludory.agents.texas42.expected_value.decision_value import DecisionValue, WorldSampling, value_of
from ludory.agents.texas42.play.choice import Question, question_of
from ludory.agents.texas42.play.pimc import first_tile
from ludory.agents.texas42.solver.solver import Solver
from ludory.envs.chance import hash_rows
from ludory.envs.engine.protocol import on_host
from ludory.envs.frozen_lake.rules import ALL, INTENDED, LIMIT
from ludory.envs.frozen_lake.rules import step as lake_step
from ludory.envs.frozen_lake.transitions import expected_values, optimal_values
from ludory.envs.game import Game
from ludory.envs.sokoban.rules import step_move9, step_push4
from ludory.envs.sokoban.state import drawn_codes
from ludory.envs.sudoku.rules import step as sudoku_step
from ludory.envs.sudoku.solver import solve_all
from ludory.envs.texas42.rules import step as hand_step
from ludory.envs.texas42.rules import step_play

from .positions import StudiedPosition
from .searches import AgentAnalyst, Analyst, mover
from .values import Difference, ExactSearch, Floats, MoveSearch, MoveValues, PairedSearch

WORLDS = 50
"""Worlds of a round of E[Q]."""
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


class PuzzleAnalyst(Analyst):
    """Solves a game of one seat."""

    def __init__(self, solve: Solve) -> None:
        self._solve = solve

    def follow(self, position: StudiedPosition) -> None:
        """Nothing to remember."""

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """The exact values."""
        seat = mover(position)
        moves = position.legal(seat)
        found = self._solve(position, moves)
        names = [position.name(move) for move in moves]
        return ExactSearch(seat, moves.tolist(), names, found.values, found.method, found.unit, found.line)


def solve_sokoban(position: StudiedPosition, moves: NDArray[np.int64]) -> Solution:
    """Minus the number of actions of a plan with the fewest pushes, from each move on."""
    lengths, pushes_from = np.full(len(moves), -np.inf), 1 if position.game.facts.num_actions == 9 else 0
    search, plans = PushSearch(drawn_codes(position.engine.state, [0]), PLAN_STATES), list[NDArray[np.int8] | None]()
    for k, move in enumerate(moves):
        engine = position.engine.clone()
        engine.step(np.array([move]))
        plan = search.plan(drawn_codes(engine.state, [0])[0])
        plans.append(plan)
        if plan is not None:
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
    fits = solutions.reshape(-1)[moves // size] == moves % size + 1
    blanks = np.flatnonzero(codes.reshape(-1) == 0)
    plan = blanks * size + solutions.reshape(-1)[blanks] - 1
    return Solution(
        fits.astype(np.float64), method, "right or wrong", tuple(position.name(action) for action in plan.tolist())
    )


def puzzle_of(game: Game) -> Solve | None:
    """The solver of a puzzle; None for other games."""
    if game.has_kernel("step", step_push4) or game.has_kernel("step", step_move9):
        return solve_sokoban
    if game.has_kernel("step", lake_step):
        return solve_lake
    return solve_sudoku if game.has_kernel("step", sudoku_step) else None


def is_texas42(game: Game) -> bool:
    """Whether a game is Texas 42."""
    return game.has_kernel("step", hand_step) or game.has_kernel("step", step_play)


class TileAnalyst(Analyst):
    """Texas 42: E[Q] of every tile, and P(make); bids and declarations are played on by `agent`.

    Nothing is inferred from the plays of others but voids.
    """

    def __init__(self, game: Game, agent: str) -> None:
        self._solver, self._bids = Solver(), AgentAnalyst(game, agent)

    def follow(self, position: StudiedPosition) -> None:
        """Update what the agent remembers."""
        self._bids.follow(position)

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """Solved worlds for tiles, games played on for bids, declarations, nello and sevens."""
        seat = mover(position)
        mask = position.seat(seat).mask
        if mask[-28:].any():
            question = question_of(position.engine.state, 0, mask[-28:], key)
            if question.for_points:
                return _TileSearch(self._solver, position, seat, question, first_tile(mask))
        return self._bids.search(position, key)


class _TileSearch(PairedSearch):
    def __init__(self, solver: Solver, position: StudiedPosition, seat: int, question: Question, first: int) -> None:
        moves = position.legal(seat)
        method = (
            "E[Q] and the points won so far: worlds that agree with what the seat knows, each solved with open hands"
        )
        points = position.engine.state.points[0]
        super().__init__(
            seat,
            moves.tolist(),
            [position.name(move) for move in moves],
            method,
            "points, own minus theirs",
            float(points[seat % 2] - points[1 - seat % 2]),
        )
        self._tiles = tuple(int(move) - first for move in moves)
        self._solver, self._state, self._question = solver, position.engine.clone().state, question
        self._made, self._every = np.zeros(len(moves)), False

    def _value(self, number: int) -> DecisionValue:
        question = self._question._replace(key=int(hash_rows(self._question.key, number)))
        return value_of(self._solver, self._state, 0, question, WorldSampling(WORLDS))

    def _returns(self, number: int) -> Floats:
        found = self._value(number)
        assert found.tiles == self._tiles
        self._every = found.enumerated
        self._made += found.p_make * found.samples
        return found.q.astype(np.float64)

    @property
    def done(self) -> bool:
        """Whether all worlds were solved."""
        return self._every

    @property
    def rollouts(self) -> int:
        """Solved worlds."""
        return self.moments.worlds

    def values(self) -> MoveValues:
        """As `PairedSearch.values`, with the probabilities of making the contract; without errors if all worlds were solved."""
        found = super().values()
        chances = np.minimum(self._made / max(self.moments.worlds, 1), 1)  # shares of worlds are rounded
        if not self._every:
            return found._replace(chances=chances)
        method = f"{found.method}; all {self.moments.worlds} worlds were solved"
        return found._replace(chances=chances, stderrs=np.zeros(len(self.moves)), exact=True, method=method)

    def difference(self, a: int, b: int) -> Difference:
        """Without error if all worlds were solved."""
        found = super().difference(a, b)
        return found._replace(stderr=0.0) if self._every else found
