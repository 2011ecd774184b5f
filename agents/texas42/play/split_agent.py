"""`texas42/seat`: one agent bids and declares, another plays the tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludory.agents.agent import Agent
from ludory.agents.draws import Keys
from ludory.agents.make import make_agent
from ludory.agents.texas42.bots import check_auction
from ludory.envs.chance import hash_rows
from ludory.envs.engine.protocol import Array, Engine, on_host
from ludory.envs.game import Game
from ludory.envs.seats.player import Memory
from ludory.envs.texas42.state import PLAYING


class TwoInOne(Agent):
    """Asks `bidder` before the play and `player` in it; both take note of all moves, but see no decision of the other.

    A network with memory through time, which advances in its own decisions only, begins the play with an empty one.

    Raises:
        OptionError: the game is not Texas 42, or has no auction.
    """

    name = "texas42/seat"

    def __init__(self, game: Game, bidder: Agent, player: Agent) -> None:
        check_auction(self.name, game, player)
        self.bidder, self.player = bidder, player
        self.privileged = bidder.privileged or player.privileged

    def seed(self, seed: int) -> None:
        """Start the choices of both anew."""
        self.player.seed(seed)
        self.bidder.seed(seed + 1)

    def initial_memory(self, rows: int) -> Memory:
        """Those of both."""
        return self.bidder.initial_memory(rows), self.player.initial_memory(rows)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """As `Agent.start_games`."""
        return self.bidder.start_games(seat, keys), self.player.start_games(seat, hash_rows(keys, 0))

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`."""
        rows = on_host(rows)
        playing = on_host(engine.state.phase)[rows] == PLAYING
        actions = np.empty(len(rows), np.int64)
        for agent, own, these in zip((self.bidder, self.player), memory, (~playing, playing), strict=True):
            if these.any():
                actions[these] = on_host(agent.choose(engine, seat, rows[these], own))
        return actions

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Let both take note."""
        for agent, own in zip((self.bidder, self.player), memory, strict=True):
            agent.notice(engine, seat, rows, actions, own)


def make(game: Game, bid: Any = "texas42/bidder", play: Any = "texas42/pimc") -> TwoInOne:
    """`texas42/seat(bid="texas42/bid30", play="texas42/response")`; see `TwoInOne`."""
    player = make_agent(play, game)
    check_auction(TwoInOne.name, game, player)
    return TwoInOne(game, make_agent(bid, game), player)
