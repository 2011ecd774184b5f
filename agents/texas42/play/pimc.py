"""`texas42/pimc`: plays the best tile on average over worlds drawn from what its seat knows, each solved with open hands."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Seat, SeatAgent
from ludory.agents.texas42.solver.solver import Solver
from ludory.envs import Array, Engine, Game, Memory, State, check_choice, check_range, on_host, state_on_host
from ludory.envs.texas42.rules import step, step_play
from ludory.envs.texas42.state import BID_30, DECLARE_0, NUM_ACTIONS, PASS, PLAY_0
from ludory.envs.texas42.tiles import FOLLOW
from ludory.errors import OptionError

from .choice import Averager, Objective, Question, question_of


class PimcAgent(SeatAgent):
    """Perfect-information Monte Carlo: maximises P(make), then mean points, then takes the lowest tile.

    Bids as `texas42/bid30`. Its draws depend on its seed and its observation, so they do not depend on other games of a batch.

    Args:
        game: a game of Texas 42.
        worlds: number of worlds per decision.
        objective: "make", or "mean" for points only.
        enumerate_below: solve all worlds if there are at most this many.
        seed: of the draws.
    """

    name = "texas42/pimc"

    def __init__(
        self,
        game: Game,
        worlds: int = 10,
        objective: Objective = "make",
        enumerate_below: int = 0,
        seed: int = 0,
    ) -> None:
        check_texas42(self.name, game)
        check_range("worlds", worlds, 1, 1_000_000)
        check_range("enumerate_below", enumerate_below, 0, 1_000_000)
        check_choice("objective", objective, ("make", "mean"))
        super().__init__(game)
        self._averager = Averager(Solver(), worlds, objective, enumerate_below)
        self._seed = seed

    def seed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
        self._seed = seed

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`, from what `knowledge` and `decision_of` tell of them."""
        rows = on_host(rows)
        state, masks = state_on_host(engine.state), on_host(engine.legal())[rows]
        seen = on_host(engine.observe(seat, rows))
        return np.array(self._actions(state, rows, seat, masks, [self._key(one) for one in seen]), np.int64)

    def decide(self, seat: Seat, own: object) -> int:
        """A bid, a declaration, or a tile, read from a world that the seat cannot distinguish from the game."""
        key = self._key(seat.observation)
        world = state_on_host(seat.worlds(1, key).state)
        return self._actions(world, [0], seat.number, seat.mask[None], [key])[0]

    def initial_memory(self, rows: int) -> Memory:
        """None: all that is known of a game is in its state."""

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Nothing to remember."""

    def _key(self, observation: NDArray[Any]) -> int:
        return zlib.crc32(observation.tobytes(), self._seed & 0xFFFFFFFF)

    def _actions(
        self, state: State, rows: Sequence[int], seat: int, masks: NDArray[np.bool_], keys: Sequence[int]
    ) -> list[int]:
        """An action of `seat` in each of the games `rows`."""
        actions = [int(mask.argmax()) for mask in masks]
        free = [int(k) for k in np.flatnonzero(masks.sum(axis=1) > 1)]
        playing = [k for k in free if masks[k, -28:].any()]
        for k in set(free) - set(playing):
            actions[k] = bid_thirty(masks[k], int(state.held[rows[k], seat]))
        asked = [int(rows[k]) for k in playing]
        questions = [question_of(state, row, masks[k, -28:], keys[k]) for k, row in zip(playing, asked, strict=True)]
        for k, tile in zip(playing, self._tiles(state, asked, questions), strict=True):
            actions[k] = tile + first_tile(masks[k])
        return actions

    def _tiles(self, state: State, rows: Sequence[int], questions: Sequence[Question]) -> list[int]:
        """A tile for each question, which is about one of the games `rows`."""
        return self._averager.tiles(questions)


def is_texas42(game: Game) -> bool:
    """Whether a game has the rules of Texas 42."""
    return game.has_kernel("step", step) or game.has_kernel("step", step_play)


def check_texas42(name: str, game: Game) -> None:
    """Check that the game is Texas 42.

    Raises:
        OptionError: the game is not Texas 42.
    """
    if not is_texas42(game):
        raise OptionError(f"{name} plays Texas 42 only, got {game.id or game.facts.name}; try Texas42-v0")


def first_tile(mask: NDArray[np.bool_]) -> int:
    """Action id of tile 0, which is 0 in games with a fixed contract."""
    return PLAY_0 if len(mask) == NUM_ACTIONS else 0


def bid_thirty(mask: NDArray[np.bool_], hand: int) -> int:
    """Action id before the play, from the legal mask (64,) and the mask of the own tiles.

    30 if nobody has bid, else pass; declares the pip of which the hand holds most tiles, the highest on ties.
    """
    if mask[DECLARE_0]:
        held = [(int(FOLLOW[pip, 7]) & hand).bit_count() for pip in range(7)]
        return DECLARE_0 + max(range(7), key=lambda pip: (held[pip], pip))
    return BID_30 if mask[BID_30] else PASS
