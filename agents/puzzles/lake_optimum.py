"""`frozen_lake/optimum`: the best player of FrozenLake that there can be, by value iteration over the actions that are left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Agent
from ludory.envs import Array, Engine, Game, Memory, on_host
from ludory.envs.frozen_lake.rules import ALL, INTENDED, LIMIT, step
from ludory.envs.frozen_lake.transitions import optimal_action, optimal_values
from ludory.errors import OptionError

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
        if not game.has_kernel("step", step):
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
