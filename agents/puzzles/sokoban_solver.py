"""`sokoban/solver`: plays plans with the fewest pushes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Agent
from ludory.envs import Array, Engine, Game, Memory, check_range, on_host
from ludory.envs.sokoban.state import WALL, drawn_codes
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
