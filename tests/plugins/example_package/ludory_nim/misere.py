"""Misère Nim: who takes the last stick loses. Its rules are NumPy over all games at once, so it brings an engine instead of kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.external import ExternalEngine, Rows
from ludory.envs.game import Game
from ludory.envs.parts import Look, Rules

from . import game as nim


class MisereEngine(ExternalEngine):
    """`self.heaps` int64 (N, heaps): sticks left. It can copy and save its games, which a league needs."""

    heaps: NDArray[np.int64]

    def _new_state(self) -> Any:
        self.largest = self.game.options.get("largest", nim.LARGEST)
        self.heaps = np.zeros((self.num_games, self.facts.num_actions // self.largest), np.int64)
        return super()._new_state()

    def start_games(self, rows: Rows, seeds: NDArray[np.int64], options: Mapping[str, Any]) -> None:
        for row, seed in zip(rows, seeds, strict=True):
            self.heaps[row] = np.random.default_rng(int(seed)).integers(1, self.largest + 1, self.heaps.shape[1])
        self._show(rows)

    def play_games(self, rows: Rows, actions: NDArray[Any]) -> None:
        heap, sticks = np.divmod(actions[:, 0], self.largest)
        self.heaps[rows, heap] -= sticks + 1
        seat = self.state.to_move[rows]
        ended = ~self.heaps[rows].any(1)
        self.state.rewards[rows[ended], seat[ended]] = -1
        self.state.rewards[rows[ended], 1 - seat[ended]] = 1
        self.state.terminated[rows] = ended
        self.state.to_move[rows] = 1 - seat
        self._show(rows)

    def _show(self, rows: Rows) -> None:
        """Each heap as a thermometer is what both seats see, and what may be taken."""
        sticks = (np.arange(self.largest) < self.heaps[rows, :, None]).reshape(len(rows), -1)
        self.state.observations[rows] = sticks[:, None]
        self.state.legal[rows, 0] = sticks

    def gather(self, rows: Any) -> MisereEngine:
        other = MisereEngine(self.game, len(rows), self.seed)
        other.load_fields({name: array[rows] for name, array in self.fields().items()})
        return other

    def fields(self) -> dict[str, Any]:
        arrays = {name: value for name, value in self.state._asdict().items() if name != "engine"}
        return {**arrays, "heaps": self.heaps, "started": self._started}

    def load_fields(self, fields: Mapping[str, Any], check: bool = True) -> None:
        arrays = {name: np.array(array) for name, array in fields.items()}
        self.heaps, self._started = arrays.pop("heaps"), arrays.pop("started")
        self.state = self.state._replace(**arrays)
        self.num_games = len(self.heaps)
        self._all = np.arange(self.num_games)

    def save(self, file: str | Path) -> None:
        with Path(file).open("wb") as handle:
            np.savez(handle, **self.fields())

    def restore(self, file: str | Path) -> None:
        with np.load(file) as arrays:
            self.load_fields(arrays)


def make_game(heaps: int = nim.HEAPS, largest: int = nim.LARGEST) -> Game:
    """Misère Nim with `heaps` heaps of at most `largest` sticks; observations, actions and names are those of Nim."""
    same = nim.make_game(heaps, largest)
    facts = dataclasses.replace(same.facts, name="Misere Nim", clones=True, saves=True)
    return Game(
        facts,
        Rules(engine=MisereEngine),
        look=Look(action_name=same.action_name),
        options={"heaps": heaps, "largest": largest},
    )
