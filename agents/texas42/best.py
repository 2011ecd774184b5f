"""`texas42/best`: the strongest player of Texas 42 that comes with Ludory.

`texas42/response` plays, with more worlds and `texas42/quick` as prior; `texas42/bidder` bids.
"""

from __future__ import annotations

from ludory.agents import Agent
from ludory.envs import Game

from .bidding.bidder import BidderAgent
from .bots import has_auction
from .play.pimc import check_texas42
from .play.response import ResponseAgent

THRESHOLD, AGAINST = 0.55, 0.42
"""Minimum P(make) of a first bid, and of one over an opponent: the best of ten tried, 0.23 +- 0.04 marks a match above 0.5 and 0.5."""


def make(
    game: Game, worlds: int = 1024, candidates: int = 4096, solved: int = 30, prior: float = 0.01, seed: int = 0
) -> Agent:
    """`texas42/best`; in a game with an auction it also bids.

    Args:
        game: Texas 42.
        worlds: as of `texas42/response`, where all of these are smaller.
        candidates: as of `texas42/response`.
        solved: as of `texas42/response`.
        prior: as of `texas42/response`.
        seed: of its draws.

    Raises:
        OptionError: the game is not Texas 42.
    """
    check_texas42("texas42/best", game)
    play = ResponseAgent(game, worlds=worlds, candidates=candidates, solved=solved, prior=prior, seed=seed)
    return BidderAgent(game, play=play, threshold=THRESHOLD, against=AGAINST, seed=seed) if has_auction(game) else play
