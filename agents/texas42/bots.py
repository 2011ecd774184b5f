"""`texas42/seer`, which sees all hands; `texas42/bid30` and `texas42/seat`, which let other agents play."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludory.agents import Agent, Keys, make_agent
from ludory.agents.texas42.play.choice import best_by_points, question_of, tiles_with_most
from ludory.agents.texas42.play.pimc import bid_thirty, check_texas42, first_tile
from ludory.agents.texas42.solver.solver import Solver, positions_of
from ludory.envs import Array, Engine, Game, Memory, State, hash_rows, on_host, state_on_host
from ludory.envs.texas42.state import PLAYING
from ludory.envs.texas42.tiles import TILES
from ludory.errors import OptionError


class ThirtyBidder(Agent):
    """Bids 30 if nobody has bid and declares the pip it holds most tiles of; subclasses choose the tiles and may override `bid`."""

    def choose(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) of `seat` in the games `rows`."""
        rows = on_host(rows)
        state, masks = state_on_host(engine.state), on_host(engine.legal())
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
    """Sees all hands and plays exactly: for the contract, then for points, then the lowest tile. For evaluation only."""

    name = "texas42/seer"
    privileged = True

    def __init__(self, game: Game) -> None:
        check_texas42(self.name, game)
        self._solver = Solver()

    def play(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """Actions (m,) in games that are being played."""
        state, masks = state_on_host(engine.state), on_host(engine.legal())
        every = positions_of(state, rows)
        asked = [question_of(state, int(row), masks[row, -28:], 0) for row in rows]
        makes = self._solver.make_after(every, [one.bid for one in asked], [one.banked for one in asked])
        best = [tiles_with_most(makes[k] if one.declares else ~makes[k], one.legal) for k, one in enumerate(asked)]
        tiles = best_by_points(self._solver, asked, [every.row(k) for k in range(len(rows))], best)
        return np.array(tiles, np.int64) + first_tile(masks[0])


class Bidding(ThirtyBidder):
    """Bids by the simplest rule and lets another agent, `play`, choose the tiles.

    Raises:
        OptionError: the game is not Texas 42, or has no auction.
    """

    name = "texas42/bid30"

    def __init__(self, game: Game, play: object = "texas42/pimc") -> None:
        self.player = make_agent(play, game)
        check_auction(self.name, game, self.player)
        self.privileged = self.player.privileged

    def seed(self, seed: int) -> None:
        """Restart the player's random choices."""
        self.player.seed(seed)

    def initial_memory(self, rows: int) -> Memory:
        """The player's memory."""
        return self.player.initial_memory(rows)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """The player's memory."""
        return self.player.start_games(seat, keys)

    def play(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> Array:
        """The player's actions."""
        return self.player.choose(engine, seat, rows, memory)

    def notice(self, engine: Engine, seat: int, rows: Array, actions: Array, memory: Memory) -> None:
        """Pass all moves to the player."""
        self.player.notice(engine, seat, rows, actions, memory)


def has_auction(game: Game) -> bool:
    """Whether the contract of a game of Texas 42 is bid for; it is given otherwise."""
    return game.facts.num_actions != TILES


def check_auction(name: str, game: Game, player: Agent) -> None:
    """Check that the game has an auction.

    Raises:
        OptionError: the game is not Texas 42, or has no auction.
    """
    check_texas42(name, game)
    if not has_auction(game):
        raise OptionError(f"{name} bids, and {game.id or game.facts.name} has no auction; use {player.name!r} itself")


class SplitAgent(Agent):
    """Asks the agent `bid` before the play and the agent `play` in it, as in `texas42/seat(bid="texas42/bid30")`; both are told all moves, but neither is asked for the other's decisions.

    A recurrent network, whose memory advances only in its own decisions, starts the play with an empty memory.

    Raises:
        OptionError: the game is not Texas 42, or has no auction.
    """

    name = "texas42/seat"

    def __init__(self, game: Game, bid: object = "texas42/bidder", play: object = "texas42/pimc") -> None:
        self.player = make_agent(play, game)
        check_auction(self.name, game, self.player)
        self.bidder = make_agent(bid, game)
        self.privileged = self.bidder.privileged or self.player.privileged

    def seed(self, seed: int) -> None:
        """Restart the random choices of both."""
        self.player.seed(seed)
        self.bidder.seed(seed + 1)

    def initial_memory(self, rows: int) -> Memory:
        """The memories of both."""
        return self.bidder.initial_memory(rows), self.player.initial_memory(rows)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """Memory of new games; their draws depend on `keys`."""
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
        """Pass all moves to both."""
        for agent, own in zip((self.bidder, self.player), memory, strict=True):
            agent.notice(engine, seat, rows, actions, own)
