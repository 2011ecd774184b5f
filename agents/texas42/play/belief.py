"""What a seat believes of the hidden hands when the others bid and play as the quick policy does: worlds, drawn by how well they explain it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.bidding.hand_cues import CUES
from ludory.envs.chance import hash_rows
from ludory.envs.engine.storage import new_records
from ludory.envs.game import Game, State
from ludory.envs.texas42.worlds import Worlds

from .choice import Question
from .play_outs import play_out_rows, weigh_rows
from .tile_features import FEATURES


class Trust(NamedTuple):
    """How far others are taken to do what the policy does; measured choices."""

    declaration: float = 1.0
    """Temperature of the guess of what a hand declares; 0: a declaration tells nothing."""
    play: float = 1.0
    """Temperature of the policy."""
    slip: float = 0.1
    """How often a seat plays any tile that it may play."""


AS_BELIEVED = Trust()
"""The measured choice."""


class WorldPlay:
    """One game, to be played in worlds; everything but the public facts and the own hand comes from these.

    Args:
        game: what is played.
        state: of which one game is taken, on the CPU.
        row: its number.
        me: the seat that knows its own hand.
    """

    def __init__(self, game: Game, state: State, row: int, me: int) -> None:
        origin = new_records(game.fields, 1).view(np.recarray)
        for name in game.fields:
            origin[name][0] = getattr(state, name)[row]
        scratch = origin.copy()
        as_bytes = (part.view(np.ndarray).view(np.uint8).reshape(-1) for part in (origin, scratch))
        self._work = origin, scratch, *as_bytes
        self._me, self._x = me, np.zeros(max(FEATURES, CUES), np.int32)

    def log_likelihoods(self, worlds: NDArray[np.int32], trust: Trust = AS_BELIEVED) -> NDArray[np.float64]:
        """(n,) of the declaration and all plays of the others in worlds (n, 3), hands in turn order."""
        logs = np.zeros(len(worlds))
        weigh_rows(*self._work, worlds, self._me, *trust, self._x, logs, 0, len(worlds))
        return logs

    def made_after(self, worlds: NDArray[np.int32], tiles: NDArray[np.int64], key: int) -> NDArray[np.bool_]:
        """(n, tiles) whether the contract is made when each tile is played in each world, and then all play the quick policy."""
        made = np.zeros((len(worlds), len(tiles)), np.bool_)
        play_out_rows(*self._work, worlds, self._me, tiles, key, self._x, made, 0, len(worlds))
        return made


def believed_worlds(
    play: WorldPlay, question: Question, candidates: int, count: int, trust: Trust = AS_BELIEVED
) -> tuple[NDArray[np.int32], float]:
    """Worlds (count, 3) drawn by their weights from up to `candidates` uniform ones, and the effective number of these.

    A world of weight w comes floor or ceil of count * w times (systematic resampling); the same ones for the same key.
    """
    worlds = Worlds(question.known).choose(candidates, question.key, candidates)
    logs = play.log_likelihoods(worlds, trust)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    start = (int(hash_rows(question.key, -2)) & 0xFFFFFF) / (1 << 24)
    drawn = np.searchsorted(np.cumsum(weights), (np.arange(count) + start) / count)
    order = np.argsort(hash_rows(question.key, np.arange(count)), kind="stable")  # so that any part of them is a sample
    return worlds[np.minimum(drawn, len(worlds) - 1)[order]], float(1 / (weights**2).sum())


def rewind(before: NDArray[Any], worlds: NDArray[Any]) -> NDArray[Any] | None:
    """The records `worlds` [n] as they were in the state `before` [1] of the same game; None: that was another deal."""
    if int(before["attempt"][0]) != int(worlds["attempt"][0]):
        return None
    then = np.repeat(before, len(worlds))
    played = before["dealt"][0] & ~before["held"][0]
    then["dealt"], then["held"] = worlds["dealt"], worlds["dealt"] & ~played
    return then
