"""`TabularAgent`: plays by a table of probabilities, one row per observation of a seat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs import Array, Memory, on_host

from .agent import DrawingAgent
from .draws import ONE_MORE, uniforms


class TabularAgent(DrawingAgent):
    """Draws from the row of its observation, or plays the most probable action; uniform over legal actions where there is no row.

    Args:
        seats: (I,) the seat of each row.
        observations: (I, *shape) its observation.
        table: (I, A) probabilities of the actions.
        name: shown in tables and replays.
        deterministic: play the most probable action, the lowest id on ties; else draw.
        seed: of the draws.
    """

    def __init__(
        self,
        seats: NDArray[np.int64],
        observations: NDArray[Any],
        table: NDArray[np.float64],
        name: str,
        deterministic: bool = False,
        seed: int = 0,
    ) -> None:
        self.name, self.deterministic = name, deterministic
        super().__init__(seed)
        self._table = table
        self._rows = {_key(seat, seen): row for row, (seat, seen) in enumerate(zip(seats, observations, strict=True))}

    def table_of(
        self, seats: NDArray[np.int64], observations: NDArray[Any], masks: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """(m, A) probabilities of the actions of `seats` (m,) that see `observations` (m, *shape)."""
        found = np.array([self._rows.get(_key(seat, seen), -1) for seat, seen in zip(seats, observations, strict=True)])
        uniform: NDArray[np.float64] = masks / masks.sum(axis=1, keepdims=True)
        return np.where((found >= 0)[:, None], self._table[found], uniform) if len(self._table) else uniform

    def probabilities(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Probabilities of the actions (m, A); the memory stays as it is."""
        legal = on_host(mask)
        return self.table_of(np.full(len(legal), seat), on_host(observation), legal), memory

    def act_at(self, seat: int, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        """Actions (m,) of `seat`; memory None: the games have just begun."""
        memory = self.initial_memory(len(mask)) if memory is None else memory
        table, _ = self.probabilities(seat, observation, mask, memory)
        if self.deterministic:
            self.log_probs = np.zeros((len(table), 1))
            return table.argmax(axis=1), memory
        edges = table.cumsum(axis=1)
        actions = (uniforms(memory[:, 0], memory[:, 1], 1) * edges[:, -1:] >= edges).sum(axis=1)
        self.log_probs = np.log(np.take_along_axis(table, actions[:, None], axis=1))
        return actions, memory + ONE_MORE


def _key(seat: int, observation: NDArray[Any]) -> bytes:
    return bytes([int(seat)]) + np.ascontiguousarray(observation).tobytes()
