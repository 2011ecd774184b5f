"""Whole hands of a contract, played by four seats that see only their own tiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ludory.agents.texas42.solver.states import hands_of
from ludory.envs import KernelEngine, hash_rows
from ludory.envs.texas42 import make_play
from ludory.envs.texas42.tiles import ALL_TILES, TILES
from ludory.envs.texas42.worlds import Knowledge, Worlds

from .choice import Averager, question_of


class PlayedHands(NamedTuple):
    """n played hands; they may stop where the contract is decided."""

    dealt: NDArray[np.int32]
    """(n, 4) masks."""
    points: NDArray[np.int64]
    """(n,) of the bidder's side."""
    tiles: NDArray[np.int8]
    """(n, 28) in the order of play, then -1."""
    seats: NDArray[np.int8]
    """(n, 28) who played them."""

    def made(self, bid: int) -> NDArray[np.bool_]:
        """(n,) whether the points make a bid; 42 and more need all 42."""
        return np.asarray(self.points >= min(bid, 42))


def deals_around(hand: int, count: int, key: int) -> NDArray[np.int32]:
    """(count, 4) deals in which seat 0 has `hand` and the other tiles are uniform; deterministic for a key."""
    unseen = ALL_TILES & ~hand
    others = Worlds(Knowledge(hand, unseen, (7, 7, 7), (unseen,) * 3)).sample(count, key)
    return np.column_stack([np.full(count, hand, np.int32), others])


def play_out(
    averager: Averager,
    dealt: NDArray[np.int32],
    decl: ArrayLike,
    bid: ArrayLike = 30,
    bidder: ArrayLike = 0,
    key: int = 0,
) -> PlayedHands:
    """Let `averager` play the four seats of n deals, each seat from its own knowledge.

    Args:
        averager: chooses the tiles; with the objective "make" a hand stops where the contract is decided.
        dealt: (n, 4) masks.
        decl: declaration, one or (n,).
        bid: 30..41 points or 42 m for m marks, one or (n,).
        bidder: the seat that leads, one or (n,).
        key: of the worlds that the seats draw.
    """
    count = len(dealt)
    engine = KernelEngine(make_play(reward="make", early_stop=averager.objective == "make"), count, seed=0)
    contract = {"decl": decl, "bid": bid, "bidder": bidder, "leader": bidder}
    wide = {name: np.broadcast_to(np.asarray(value, np.int64), (count,)) for name, value in contract.items()}
    engine.reset(options={"deal": hands_of(dealt).reshape(count, TILES), **wide})
    while not engine.over.all():
        keys = hash_rows(key, np.arange(count) * TILES + int(engine.state.plays.max()))
        engine.step(choose_tiles(averager, engine, keys)[0])
    state = engine.state
    points = state.points[np.arange(count), wide["bidder"] % 2].astype(np.int64)
    return PlayedHands(dealt, points, state.tiles.copy(), state.seats.copy())


def choose_tiles(
    averager: Averager, engine: KernelEngine, keys: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns (n,) tiles of the seats to move, arbitrary in hands that are over, and the hands in which there was a choice."""
    masks = engine.legal()
    actions = masks.argmax(axis=1).astype(np.int64)
    free = np.flatnonzero((masks.sum(axis=1) > 1) & ~engine.over)
    asked = [question_of(engine.state, int(k), masks[k], int(keys[k])) for k in free]
    actions[free] = averager.tiles(asked)
    return actions, free
