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

THRESHOLD, AGAINST, OVER_PARTNER = (0.56, 0.6, 0.36, 0.44), (1.0, 0.44, 0.28, 0.32), (1.0, 1.0, 0.6, 0.7)
"""Minima of `BidderAgent`: what gains most over 0.5 everywhere and over 0.55 and 0.42, in auctions whose contracts `texas42/quick` played."""


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
    if not has_auction(game):
        return play
    return BidderAgent(game, play, threshold=THRESHOLD, against=AGAINST, over_partner=OVER_PARTNER, seed=seed)
