"""`texas42/seer`, which sees all hands, and `texas42/bid30`, which bids by the simplest rule and lets another agent play."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.agents.draws import Keys
from ludory.agents.make import make_agent
from ludory.agents.texas42.bidding.thirty import bid_thirty
from ludory.agents.texas42.play.choice import best_by_points, tiles_with_most
from ludory.agents.texas42.play.pimc import check_texas42, first_tile, on_cpu
from ludory.agents.texas42.solver.expected import decision_of
from ludory.agents.texas42.solver.solver import Solver, positions_of
from ludory.envs.engine.protocol import Array, Engine, on_host
from ludory.envs.game import Game, State
from ludory.envs.seats.player import Memory
from ludory.envs.texas42.state import PLAYING
from ludory.envs.texas42.tiles import mask_of
from ludory.errors import OptionError


class ThirtyBidder(Agent):
    """Bids 30 if nobody has bid, declares the pip it holds most tiles of; subclasses choose the tiles, and may bid otherwise."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`."""
        rows = on_host(rows)
        state, masks = on_cpu(engine.state), on_host(engine.legal())
        actions = np.empty(len(rows), np.int64)
        playing = state.phase[rows] == PLAYING
        for k in np.flatnonzero(~playing):
            actions[k] = self.bid(state, int(rows[k]), seat, masks[rows[k]])
        if playing.any():
            actions[playing] = self.play(engine, seat, rows[playing], memory)
        return actions

    def bid(self, state: State, row: int, seat: int, mask: NDArray[np.bool_]) -> int:
        """Action id of `seat` in the auction or for a declaration, in game `row` of a state on the CPU."""
        return bid_thirty(mask, int(state.held[row, seat]))

    def play(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) in games that are being played."""
        raise NotImplementedError(f"{type(self).__name__} needs play()")


class SeerAgent(ThirtyBidder):
    """Sees all hands and plays exactly: to make or break the contract, then for points, then the lowest tile."""

    name = "texas42/seer"
    privileged = True

    def __init__(self, game: Game) -> None:
        check_texas42(self.name, game)
        self._solver = Solver()

    def play(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) in games that are being played."""
        state, masks = on_cpu(engine.state), on_host(engine.legal())
        every = positions_of(state, rows)
        decisions = [decision_of(state, int(row)) for row in rows]
        makes = self._solver.make_after(every, [d.bid for d in decisions], [d.banked for d in decisions])
        best = [
            tiles_with_most(makes[k] if decision.declares else ~makes[k], mask_of(np.flatnonzero(masks[rows[k], -28:])))
            for k, decision in enumerate(decisions)
        ]
        tiles = best_by_points(self._solver, decisions, [every.row(k) for k in range(len(rows))], best)
        return np.array(tiles, np.int64) + first_tile(masks[0])


class Bidding(ThirtyBidder):
    """Lets another agent, `player`, choose the tiles."""

    name = "texas42/bid30"

    def __init__(self, game: Game, player: Agent) -> None:
        check_auction(self.name, game, player)
        self.player, self.privileged = player, player.privileged

    def seed(self, seed: int) -> None:
        """Start the player's choices anew."""
        self.player.seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        """The player's."""
        return self.player.initial_memory(rows)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """The player's."""
        return self.player.start_games(seat, keys)

    def play(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """The player's actions."""
        return self.player.choose(engine, seat, rows, memory)

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Let the player take note of all moves."""
        self.player.notice(engine, seat, rows, actions, memory)


def check_auction(name: str, game: Game, player: Agent) -> None:
    """Refuse games that are played without bids.

    Raises:
        OptionError: the game is not Texas 42, or has no auction.
    """
    check_texas42(name, game)
    if game.facts.num_actions == 28:
        raise OptionError(f"{name} bids, and {game.id or game.facts.name} has no auction; use {player.name!r} itself")


def make_seer(game: Game) -> SeerAgent:
    """`texas42/seer`: for evaluation only, it looks at all hands."""
    return SeerAgent(game)


def make_bid30(game: Game, play: Any = "texas42/pimc") -> Bidding:
    """`texas42/bid30`, or `texas42/bid30(play="random")`.

    Raises:
        OptionError: the game is not Texas 42, or has no auction.
    """
    return Bidding(game, make_agent(play, game))
