"""What a seat believes about hidden hands if the others bid and play as the quick policy does: worlds weighted by likelihood."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import GameBeliefs, ParticleBelief
from ludory.agents.texas42.bidding.hand_cues import CUES
from ludory.envs import Game, State, hash_rows
from ludory.envs.engine.storage import new_records
from ludory.envs.texas42.worlds import Worlds

from .choice import Question
from .fast_policy import OF_PIMC, QuickPolicyWeights
from .pimc import is_texas42
from .play_outs import play_out_rows, weigh_rows


class Trust(NamedTuple):
    """How closely others are assumed to follow the policy; the defaults were measured."""

    declaration: float = 1.0
    """Temperature of the model of declarations; 0: ignore the declaration."""
    play: float = 1.0
    """Temperature of the policy."""
    slip: float = 0.1
    """Probability that a seat plays a uniformly random legal tile."""


AS_BELIEVED = Trust()
"""The measured default."""


class WorldPlay:
    """One game that can be continued in worlds; only the public facts and the own hand are read from the game itself.

    Args:
        game: the game.
        state: a state on the CPU that contains the game.
        row: index of the game in it.
        me: the seat that knows its own hand.
        weights: of the policy by which all others play.
    """

    def __init__(self, game: Game, state: State, row: int, me: int, weights: QuickPolicyWeights = OF_PIMC) -> None:
        origin = new_records(game.rules.fields, 1).view(np.recarray)
        for name in game.rules.fields:
            origin[name][0] = getattr(state, name)[row]
        scratch = origin.copy()
        as_bytes = (part.view(np.ndarray).view(np.uint8).reshape(-1) for part in (origin, scratch))
        self._work = origin, scratch, *as_bytes
        self._me, self._x = me, np.zeros(max(weights.room, CUES), np.int32)
        self._policy, self._trumps = weights.of_tiles, weights.trumps

    def log_likelihoods(self, worlds: NDArray[np.int32], trust: Trust = AS_BELIEVED) -> NDArray[np.float64]:
        """(n,) log-likelihood of the declaration and of all plays of the others in worlds (n, 3), hands in turn order."""
        logs = np.zeros(len(worlds))
        weigh_rows(*self._work, worlds, self._me, *trust, *self._policy, self._trumps, self._x, logs, 0, len(worlds))
        return logs

    def made_after(self, worlds: NDArray[np.int32], tiles: NDArray[np.int64], key: int) -> NDArray[np.bool_]:
        """(n, tiles) whether the contract is made if each tile is played in each world and all seats then play the quick policy."""
        made = np.zeros((len(worlds), len(tiles)), np.bool_)
        play_out_rows(*self._work, worlds, self._me, tiles, key, *self._policy, self._x, made, 0, len(worlds))
        return made


def believed_worlds(
    play: WorldPlay, question: Question, candidates: int, count: int, trust: Trust = AS_BELIEVED
) -> tuple[NDArray[np.int32], float]:
    """Worlds (count, 3) resampled by weight from up to `candidates` uniform ones, and the effective sample size of these.

    A world of weight w occurs floor or ceil of count * w times (systematic resampling); deterministic for a key.
    """
    worlds = Worlds(question.known).choose(candidates, question.key, candidates)
    logs = play.log_likelihoods(worlds, trust)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    start = (int(hash_rows(question.key, -2)) & 0xFFFFFF) / (1 << 24)
    drawn = np.searchsorted(np.cumsum(weights), (np.arange(count) + start) / count)
    order = np.argsort(hash_rows(question.key, np.arange(count)), kind="stable")  # so that any prefix is a sample
    return worlds[np.minimum(drawn, len(worlds) - 1)[order]], float(1 / (weights**2).sum())


def rewind(before: NDArray[Any], worlds: NDArray[Any]) -> NDArray[Any] | None:
    """The records `worlds` [n] of Texas 42 as they were in the state `before` [1] of the same game: a hand is the hand dealt less the plays so far.

    None if that was another deal.
    """
    if int(before["attempt"][0]) != int(worlds["attempt"][0]):
        return None
    then = np.repeat(before, len(worlds))
    played = before["dealt"][0] & ~before["held"][0]
    then["dealt"], then["held"] = worlds["dealt"], worlds["dealt"] & ~played
    return then


def beliefs(game: Game) -> GameBeliefs | None:
    """Particles that are taken back to the moves of the past by `rewind`."""
    return GameBeliefs(partial(ParticleBelief, rewind=rewind)) if is_texas42(game) else None
