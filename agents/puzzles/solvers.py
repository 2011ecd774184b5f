"""Agents that play puzzles as well as can be: `sokoban/solver`, `sudoku/solver` and `frozen_lake/optimum`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Agent
from ludory.envs import Array, Engine, Game, Memory, check_range, on_host
from ludory.envs.frozen_lake.rules import ALL, INTENDED, LIMIT
from ludory.envs.frozen_lake.rules import step as step_lake
from ludory.envs.frozen_lake.transitions import optimal_action, optimal_values
from ludory.envs.sokoban.state import WALL, drawn_codes
from ludory.envs.sudoku.rules import step as step_sudoku
from ludory.envs.sudoku.solver import solve_all
from ludory.errors import OptionError

from .sokoban_search import PushSearch

REMEMBERED = 100_000
"""Positions whose next action is kept."""


class SokobanSolver(Agent):
    """Plays, from every position, a plan with the fewest pushes, and among those the fewest actions.

    Where there is none (a box is stuck, the search met `max_states`, or the room was given solved), it plays the first legal action.

    Args:
        game: Sokoban.
        max_states: states after which a search gives up.

    Raises:
        OptionError: another game.
    """

    name = "sokoban/solver"

    def __init__(self, game: Game, max_states: int = 200_000) -> None:
        if game.facts.name != "Sokoban":
            raise OptionError(f"sokoban/solver plays Sokoban, got {game.name}; choose a game such as Sokoban-v0")
        check_range("max_states", max_states, 1, 10_000_000)
        self._max_states, self._search = max_states, None
        self._pushes_from = 1 if game.facts.num_actions == 9 else 0
        self._next: dict[bytes, int] = {}

    _search: PushSearch | None

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of the games `rows`."""
        rooms, masks = drawn_codes(engine.state, np.asarray(on_host(rows))), on_host(engine.legal())[on_host(rows)]
        actions = [self._action(room, mask) for room, mask in zip(rooms, masks, strict=True)]
        return engine.tensor(np.array(actions, np.int64))  # type: ignore[attr-defined]

    def _action(self, room: Any, mask: Any) -> int:
        key = room.tobytes()
        if key not in self._next:
            self._plan(room, key)
        action = self._next[key]
        return action if action >= 0 and mask[action] else int(mask.argmax())

    def _plan(self, room: Any, key: bytes) -> None:
        """Remember what to play in `room`, and in the positions that follow."""
        if len(self._next) > REMEMBERED:
            self._next.clear()
        if self._search is None:
            self._search = PushSearch(room, self._max_states)
        plan = self._search.plan(room)
        if plan is None or not len(plan):
            self._next[key] = -1
            return
        here = room.copy()
        for direction in plan.tolist():
            self._next[here.tobytes()] = self._pushes_from + direction
            here = after(here, direction)


def after(room: NDArray[np.uint8], direction: int) -> NDArray[np.uint8]:
    """The room (R, C) of codes 0..6 after a move that is possible."""
    step = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)][direction])
    here = np.argwhere(room >= 5)[0]
    ahead, beyond = tuple(here + step), tuple(here + 2 * step)
    room, here = room.copy(), tuple(here)
    assert room[ahead] != WALL
    if room[ahead] in (3, 4):
        room[beyond] = 3 if room[beyond] == 2 else 4
        room[ahead] = 2 if room[ahead] == 3 else 1
    room[here] = 2 if room[here] == 6 else 1
    room[ahead] = 6 if room[ahead] == 2 else 5
    return room


class SudokuSolver(Agent):
    """Solves the grid as it stands and fills its first blank cell, so that it needs one action per blank.

    Where other players left entries that no solution has, it solves the given cells instead and corrects what can be corrected.
    """

    name = "sudoku/solver"

    def __init__(self, game: Game) -> None:
        if not game.has_kernel("step", step_sudoku):
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


Key = tuple[bytes, float, int]
"""A map, its success rate and the horizon."""
KEPT = 4096
"""Maps whose values are remembered."""


class LakeOptimum(Agent):
    """Maximises the probability of reaching the goal within the actions that are left; sees every slip.

    Args:
        game: a FrozenLake.
        horizon: actions of an episode, such as 10 to compare with text play; None: the game's `max_steps`.

    Raises:
        OptionError: another game, or a horizon below 1.
    """

    name = "frozen_lake/optimum"

    def __init__(self, game: Game, horizon: int | None = None) -> None:
        if not game.has_kernel("step", step_lake):
            raise OptionError(
                f"{self.name} plays FrozenLake, got {game.name}; choose a FrozenLake id, such as FrozenLakeFirm-v0"
            )
        if horizon is not None and (not isinstance(horizon, int) or horizon < 1):
            raise OptionError(f"{self.name}: horizon={horizon!r}, must be a number of actions of at least 1")
        self._horizon = horizon
        self._values: dict[Key, NDArray[np.float64]] = {}

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`."""
        state, rows = engine.state, on_host(rows)
        rooms, players, steps = (on_host(field)[rows] for field in (state.cells, state.player, state.steps))
        setup = on_host(state.setup)[0]
        success_rate, horizon = int(setup[INTENDED]) / ALL, self._horizon or int(setup[LIMIT])
        keys = [(room.tobytes(), success_rate, horizon) for room in rooms]
        self._solve(dict(zip(keys, rooms, strict=True)), success_rate, horizon)
        left = np.maximum(horizon - steps, 1)
        chosen = [
            optimal_action(room, success_rate, self._values[key][left[k] - 1], int(players[k]))
            for k, (key, room) in enumerate(zip(keys, rooms, strict=True))
        ]
        return np.array(chosen, np.int64)

    def _solve(self, rooms: dict[Key, NDArray[np.int8]], success_rate: float, horizon: int) -> None:
        """Remember `optimal_values`, [horizon + 1, N * N], of each of `rooms`."""
        new = {key: room for key, room in rooms.items() if key not in self._values}
        if not new:
            return
        if len(self._values) + len(new) > KEPT:
            self._values.clear()
            new = rooms
        values = optimal_values(np.stack(list(new.values())), success_rate, horizon)
        self._values |= dict(zip(new, values, strict=True))
