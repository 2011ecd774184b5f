"""`texas42/pimc`: plays the tile that does best on average over worlds drawn from what its seat knows, each solved with open hands."""

from __future__ import annotations

import zlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine import on_host
from ludory.envs.game import Game, State
from ludory.envs.texas42.options import check_choice, check_range
from ludory.envs.texas42.rules import step, step_play
from ludory.envs.texas42.state import NUM_ACTIONS, PLAY_0
from ludory.envs.texas42.tiles import mask_of
from ludory.envs.texas42.worlds import Worlds, knowledge
from ludory.errors import OptionError

from ..seat import Seat, SeatAgent
from .expected import Decision, decision_of, moments
from .solver import Positions, Solver
from .thirty import bid_thirty

MORE, TIMES = 4, 2
"""Where no tile can be told from another, so many times as many fresh worlds are drawn, so many times."""


class PimcAgent(SeatAgent):
    """Perfect-information Monte Carlo: the chance to make the contract first, then the mean of the points, then the lowest tile.

    Bids as `texas42/bid30`. What it draws depends on its seed and on what it sees, so that it repeats whatever else is played.

    Args:
        game: a game of Texas 42.
        worlds: drawn for each decision.
        objective: "make", or "mean" for points only.
        enumerate_below: up to so many worlds are all solved instead.
        seed: of the draws.
    """

    name = "texas42/pimc"

    def __init__(
        self,
        game: Game,
        worlds: int = 10,
        objective: Literal["make", "mean"] = "make",
        enumerate_below: int = 0,
        seed: int = 0,
    ) -> None:
        check_texas42(self.name, game)
        check_range("worlds", worlds, 1, 1_000_000)
        check_range("enumerate_below", enumerate_below, 0, 1_000_000)
        check_choice("objective", objective, ("make", "mean"))
        super().__init__(game)
        self.worlds, self.objective, self.enumerate_below = worlds, objective, enumerate_below
        self._seed, self._solver = seed, Solver()

    def seed(self, seed: int) -> None:
        """Start the draws anew."""
        self._seed = seed

    def decide(self, seat: Seat, own: Any) -> int:
        """A bid, a declaration, or a tile."""
        mask = seat.mask
        if mask.sum() == 1:
            return int(mask.argmax())
        key = zlib.crc32(seat.observation.tobytes(), self._seed & 0xFFFFFFFF)
        world = on_cpu(seat.worlds(1, key).state)
        if first_tile(mask) and not mask[-28:].any():
            return bid_thirty(mask, int(world.held[0, seat.number]))
        tile = self._tile(world, seat.number, mask_of(np.flatnonzero(mask[-28:])), key)
        return tile + first_tile(mask)

    def _tile(self, world: State, seat: int, legal: int, key: int) -> int:
        """The best tile; everything but the own hand is read from a world that the seat can not tell from the game."""
        known, decision = knowledge(world, 0, seat), decision_of(world, 0)
        worlds = Worlds(known)
        count = self.worlds
        for attempt in range(TIMES + 1):
            held = decision.worlds(known.hand, worlds.choose(count, key + (attempt << 32), self.enumerate_below))
            best = self._makers(decision, held, legal) if self.by_contract(decision) else legal
            if best != legal or len(held.held) == worlds.count or not self.by_contract(decision):
                break
            if attempt < TIMES:
                count *= MORE
        return best_by_points(self._solver, decision, held, best)

    def by_contract(self, decision: Decision) -> bool:
        """Whether the chance to make the contract comes first; under nello and sevens there is nothing else."""
        return self.objective == "make" or not decision.for_points

    def _makers(self, decision: Decision, held: Positions, legal: int) -> int:
        """Mask of the tiles with the best chance."""
        made = self._solver.make_after(held, decision.bid, decision.banked).sum(axis=0)
        return tiles_with_most(made if decision.declares else len(held.held) - made, legal)


def tiles_with_most(score: NDArray[Any], legal: int) -> int:
    """Mask of the tiles in `legal` with the highest score (28,)."""
    tiles = [tile for tile in range(28) if legal >> tile & 1]
    most = max(score[tile] for tile in tiles)
    return mask_of(tile for tile in tiles if score[tile] == most)


def best_by_points(solver: Solver, decision: Decision, held: Positions, among: int) -> int:
    """The tile in the mask `among` with the highest mean of points over worlds, of equals the lowest."""
    if among & (among - 1) == 0 or not decision.for_points:
        return (among & -among).bit_length() - 1
    found = moments(decision.side, solver.q_values(held, among)[1], among)
    return found.tiles[int(found.q.sum(axis=0).argmax())]


def check_texas42(name: str, game: Game) -> None:
    """Refuse other games.

    Raises:
        OptionError: the game is not Texas 42.
    """
    if game.kernels.step not in (step, step_play):
        raise OptionError(f"{name} plays Texas 42 only, got {game.id or game.facts.name}; try Texas42-v0")


def first_tile(mask: NDArray[np.bool_]) -> int:
    """Action id of tile 0: with a fixed contract, ids are tiles."""
    return PLAY_0 if len(mask) == NUM_ACTIONS else 0


def on_cpu(state: State) -> State:
    """A state whose fields are NumPy arrays."""
    return type(state)(*(on_host(field) for field in state))


def make(
    game: Game,
    worlds: int = 10,
    objective: Literal["make", "mean"] = "make",
    enumerate_below: int = 0,
    seed: int = 0,
) -> PimcAgent:
    """`texas42/pimc`, or `texas42/pimc(worlds=50, objective="mean")`; see `PimcAgent`."""
    return PimcAgent(game, worlds, objective, enumerate_below, seed)
