"""The exact model of a lake: its transitions, and the best chance of reaching the goal within a number of actions."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.errors import OptionError

from .rules import GOAL, HOLE, START, neighbour

_next_cell = getattr(neighbour, "py_func", neighbour)


class Transition(NamedTuple):
    """One outcome of an action."""

    probability: float
    cell: int
    reward: float
    end: bool


def directions_of(action: int, success_rate: float) -> tuple[tuple[int, float], ...]:
    """The directions that may come of an action, with their probabilities."""
    aside = (1 - success_rate) / 2
    return ((action, success_rate), ((action + 3) % 4, aside), ((action + 1) % 4, aside))


def transitions(room: ArrayLike, success_rate: float) -> list[list[tuple[Transition, ...]]]:
    """`[cell][action]`: up to three outcomes with positive probability, merged where they lead to the same cell.

    Goal and holes have no outcomes: the game is over there.

    Args:
        room: codes [N, N], as `read_map` returns them.
        success_rate: q, the probability of the intended direction; each perpendicular one has (1 - q) / 2.
    """
    cells = np.asarray(room)
    flat, size = cells.ravel(), len(cells)
    model: list[list[tuple[Transition, ...]]] = []
    for cell in range(size * size):
        over = flat[cell] in (HOLE, GOAL)
        model.append([() if over else _outcomes(flat, size, cell, action, success_rate) for action in range(4)])
    return model


def _outcomes(flat: NDArray[Any], size: int, cell: int, action: int, success_rate: float) -> tuple[Transition, ...]:
    found: dict[int, float] = {}
    for direction, probability in directions_of(action, success_rate):
        there = _next_cell(cell, direction, size)
        if probability > 0:
            found[there] = found.get(there, 0.0) + probability
    return tuple(
        Transition(probability, there, float(flat[there] == GOAL), bool(flat[there] in (HOLE, GOAL)))
        for there, probability in found.items()
    )


@cache
def _neighbours(size: int) -> NDArray[np.int64]:
    """(N * N, 4): the cell that each direction leads to."""
    return np.array([[_next_cell(cell, way, size) for way in range(4)] for cell in range(size * size)])


def optimal_values(rooms: ArrayLike, success_rate: float, horizon: int) -> NDArray[np.float64]:
    """[n, horizon + 1, N * N]: the probability of reaching the goal from each cell with 0, 1, ..., `horizon` actions left.

    Finite-horizon value iteration for a player that sees every slip. rooms: codes [n, N, N].
    """
    cells = np.asarray(rooms)
    flat, ways = cells.reshape(len(cells), -1), _neighbours(cells.shape[-1])
    values = np.zeros((len(flat), horizon + 1, flat.shape[1]))
    goal, over = flat == GOAL, (flat == GOAL) | (flat == HOLE)
    values[:, 0] = goal
    for left in range(1, horizon + 1):
        best = action_values(values[:, left - 1], ways, success_rate).max(axis=-1)
        values[:, left] = np.where(over, goal, best)
    return values


def action_values(values: NDArray[np.float64], ways: NDArray[np.int64], success_rate: float) -> NDArray[np.float64]:
    """(n, cells, 4): the expected value of each action, from the values (n, cells) of the cells that follow."""
    ahead = values[:, ways]  # (n, cells, direction)
    sides = np.roll(ahead, 1, axis=-1) + np.roll(ahead, -1, axis=-1)
    expected: NDArray[np.float64] = success_rate * ahead + (1 - success_rate) / 2 * sides
    return expected


def expected_values(
    room: ArrayLike, success_rate: float, values: NDArray[np.float64], cell: int
) -> NDArray[np.float64]:
    """(4,): the probability of reaching the goal after each action in `cell`; `values` (N * N,) are those with one action less."""
    ways = _neighbours(len(np.asarray(room)))[[cell]]
    found: NDArray[np.float64] = action_values(values[None], ways, success_rate)[0, 0]
    return found


def optimal_action(room: ArrayLike, success_rate: float, values: NDArray[np.float64], cell: int) -> int:
    """The best action in `cell`, the first of equals; `values` as for `expected_values`."""
    return int(expected_values(room, success_rate, values, cell).argmax())


def optimum(room: ArrayLike, success_rate: float, horizon: int) -> float:
    """The largest probability with which a player who sees every slip reaches the goal in at most `horizon` actions.

    It bounds players that commit to several actions at once from above.

    Args:
        room: codes [N, N].
        success_rate: q.
        horizon: number of actions, such as those of an episode of `TextEnv`.

    Raises:
        OptionError: the horizon is negative, or `success_rate` is outside 0..1.
    """
    if horizon < 0 or not 0 <= success_rate <= 1:
        raise OptionError(f"optimum: got success_rate={success_rate}, horizon={horizon}; must be 0..1, and at least 0")
    cells = np.asarray(room)
    start = int(np.flatnonzero(cells.ravel() == START)[0])
    return float(optimal_values(cells[None], success_rate, horizon)[0, horizon, start])


def random_walk(room: ArrayLike, horizon: int) -> float:
    """The probability with which uniformly random actions reach the goal in at most `horizon` actions.

    It is the same for every success rate, since a uniform direction stays uniform.
    """
    cells = np.asarray(room)
    flat, ways = cells.ravel(), _neighbours(len(cells))
    values = (flat == GOAL).astype(float)
    for _ in range(horizon):
        values = np.where((flat == GOAL) | (flat == HOLE), flat == GOAL, values[ways].mean(axis=1))
    return float(values[flat == START][0])
