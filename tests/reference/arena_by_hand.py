"""`Hand`: one game of the arena, played by the kernels as plain Python, with actions in words and everything at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.envs.arena import make_game
from ludory.envs.arena.state import ABILITY, AIM_X, AIM_Y, HEADS, INTERACT, MOVE_X, MOVE_Y, SHOOT
from ludory.envs.engine.storage import new_records, views
from ludory.testing.kernels.interpreted import interpreted

U = 1200
ABILITIES = {"": 0, "dash": 1, "shield": 2, "nova": 3, "mine": 4}


class Hand:
    """A started game without aim noise; positions in units, given as the reset option `start` takes them."""

    def __init__(self, players: int = 2, seed: int = 12345, start: dict[str, Any] | None = None, **options: Any):
        self.game = make_game(players=players, **{"aim_noise_degrees": 0, **options})
        self.players, self.facts = players, self.game.facts
        kernels = self.game.rules.kernels._asdict()
        self._kernels = {name: interpreted(kernel) for name, kernel in kernels.items() if kernel}
        self.state = views(self.game.rules.fields, new_records(self.game.rules.fields, 1))
        for name, values in self.game.rules.start({"start": start} if start else {}, 1).items():
            getattr(self.state, name)[:] = values
        self.state.random[:, 0] = seed
        self.call("reset")
        self.returns = np.zeros(players)

    def call(self, name: str, *args: Any) -> Any:
        """Run a kernel on the game."""
        with np.errstate(over="ignore"):
            return self._kernels[name](self.state, 0, *args)

    def act(self, move=(0, 0), aim=(0, 0), fire=False, ability="", interact=False) -> NDArray[np.int64]:
        """An action; move and aim in -1..1, rounded to a bin."""
        action, sizes = np.zeros(HEADS, np.int64), self.facts.head_sizes
        for head, value in zip((MOVE_X, MOVE_Y, AIM_X, AIM_Y), (*move, *aim), strict=True):
            action[head] = round((value + 1) / 2 * (sizes[head] - 1))
        action[SHOOT], action[ABILITY], action[INTERACT] = fire, ABILITIES[ability], interact
        return action

    def play(self, *wishes: dict[str, Any]) -> None:
        """One decision; a wish per seat (arguments of `act`), seats without one stand still. All must be legal."""
        actions = np.stack([self.act(**(wishes[seat] if seat < len(wishes) else {})) for seat in range(self.players)])
        self.step(actions)

    def step(self, actions: NDArray[np.int64]) -> None:
        """One decision, in bins."""
        for seat, action in enumerate(actions):
            chosen = self.mask(seat)[self.offsets + action]
            assert chosen.all(), f"seat {seat}: {self.facts.head_names[int(np.argmin(chosen))]} is not legal"
        self.state.rewards[:] = 0
        self.call("step", actions)
        self.returns += self.state.rewards[0]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each head begins in a mask."""
        return np.concatenate([[0], np.cumsum(self.facts.head_sizes)[:-1]])

    def mask(self, seat: int) -> NDArray[np.bool_]:
        """Legal mask of a seat."""
        mask = np.zeros(self.facts.num_actions, bool)
        self.call("legal", seat, mask)
        return mask

    def legal(self, seat: int) -> set[str]:
        """What a seat may do beside moving and aiming."""
        mask, first = self.mask(seat), int(self.offsets[SHOOT])
        names = ("", "fire", "", "dash", "shield", "nova", "mine", "", "interact")
        return {name for name, legal in zip(names, mask[first:], strict=True) if legal and name}

    def seen(self, seat: int) -> dict[str, NDArray[np.float32]]:
        """The observation of a seat, by segment."""
        out = np.zeros(self.facts.observation.size, np.float32)
        self.call("observe", seat, out)
        return {name: out[start : start + length] for name, start, length in self.facts.segments}

    def hp(self) -> list[float]:
        """Hit points, 100 is full."""
        return (self.state.hp[0] / 100).tolist()

    def at(self, seat: int) -> tuple[float, float]:
        """Position in units."""
        return float(self.state.x[0, seat]) / U, float(self.state.y[0, seat]) / U


def facing_each_other(distance: float, **more: Any) -> dict[str, Any]:
    """Start of a duel on the x axis: seat 0 on the left, `distance` units apart, crates far off."""
    half = round(distance * U / 2)
    return {
        "position": [[-half, 0], [half, 0]],
        "facing": [[1, 0], [-1, 0]],
        "crates": [[0, 13 * U]] * 6,
        "final_centre": [0, 0],
        **more,
    }
