"""`texas42/response`: plays the best tile when all seats continue with hidden hands, in worlds that explain the play so far.

Two estimates of P(make) are averaged. In one, all seats continue with a quick policy, each from its own knowledge: there is no
strategy fusion, but the players are weak. In the other all hands are open, as in `texas42/pimc`: the players are perfect and know too
much. The belief of a seat about hidden hands weighs worlds by the likelihood that the others bid and play as the quick policy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents import GameBeliefs, ParticleBelief
from ludory.agents.texas42.bidding.hand_cues import CUES
from ludory.envs import Game, State, check_range, hash_rows, new_records
from ludory.envs.texas42.tiles import mask_of, tiles_of
from ludory.envs.texas42.worlds import Worlds
from ludory.errors import OptionError

from .choice import Question, best_by_points, tiles_with_most
from .fast_policy import LEVELS, OF_PIMC, WEIGHTS, QuickPolicyWeights, read_weights
from .pimc import PimcAgent, is_texas42
from .play_outs import chances_of_tiles, play_out_rows, weigh_rows

ROUND, SURE = 256, 3.0
"""Worlds of the first round, and standard errors by which a tile must be behind to be given up."""
HARDLY = 0.01
"""Share of uniformly random tiles in `texas42/quick` as a prior, so that no tile is ruled out."""


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

    def log_chances(self, tiles: NDArray[np.int64], weights: QuickPolicyWeights) -> NDArray[np.float64]:
        """(tiles,) logarithm of the probability that the own seat, which is to move, plays each of them by another policy."""
        logs, x = np.zeros(len(tiles)), np.zeros(weights.room, np.int32)
        chances_of_tiles(self._work[0], self._me, tiles, HARDLY, *weights.of_tiles, x, logs)
        return logs

    def made_after(
        self, worlds: NDArray[np.int32], tiles: NDArray[np.int64], key: int, first: int = 0
    ) -> NDArray[np.bool_]:
        """(n - first, tiles) whether the contract is made if each tile is played in a world and all seats play the quick policy then.

        A world's draws depend on the key and its place in `worlds`; those before `first` are left out.
        """
        made = np.zeros((len(worlds), len(tiles)), np.bool_)
        play_out_rows(*self._work, worlds, self._me, tiles, key, *self._policy, self._x, made, first, len(worlds))
        return made[first:]


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


class ResponseAgent(PimcAgent):
    """Responds to a quick policy; bids as `texas42/bid30`, and plays nello and sevens as `texas42/pimc`.

    Its draws depend on its seed and its observation, as with PIMC.

    Args:
        game: a game of Texas 42.
        worlds: number of worlds in which every tile is tried and the hand is played out.
        candidates: number of uniform worlds from which these are resampled by weight; all worlds if there are fewer.
        solved: number of these worlds that are solved with open hands.
        share: weight of the open hands against the hands played out, 0..1.
        declared: treat the declaration as the bidder's choice; False where it was given.
        level: 1 responds to a quick policy that imitates PIMC, 2 to one that imitates level 1; `texas42/quick` is another one.
        prior: what a factor e in the probability that `texas42/quick` gives a tile counts, as P(make); it decides where worlds say little.
        policy: file of the weights of the quick policy that it responds to, made by `ludory texas42 quick`; None: those of `level`.
        seed: of the draws.
    """

    name = "texas42/response"

    def __init__(
        self,
        game: Game,
        worlds: int = 200,
        candidates: int = 400,
        solved: int = 10,
        share: float = 0.25,
        declared: bool = True,
        level: int = 1,
        prior: float = 0.0,
        policy: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, seed=seed)
        check_range("worlds", worlds, 1, 1_000_000)
        check_range("candidates", candidates, 1, 1_000_000)
        check_range("solved", solved, 1, worlds)
        if not 0 <= share <= 1:
            raise OptionError(f"share={share!r}: must be a number from 0 to 1")
        if not isinstance(declared, bool):
            raise OptionError(f"declared={declared!r}: must be True or False")
        self.worlds, self.candidates, self.solved, self.share = worlds, candidates, solved, share
        check_range("level", level, 1, len(LEVELS))
        if not 0 <= prior <= 1:
            raise OptionError(f"prior={prior!r}: must be a number from 0 to 1")
        self.prior = prior
        self.weights = read_weights(LEVELS[level - 1] if policy is None else Path(policy))
        self.trust = Trust() if declared else Trust(declaration=0.0)

    def _tiles(self, state: State, rows: Sequence[int], questions: Sequence[Question]) -> list[int]:
        """A tile for each question, which is about one of the games `rows`."""
        return [self._tile(state, row, one) for row, one in zip(rows, questions, strict=True)]

    def _tile(self, state: State, row: int, question: Question) -> int:
        legal = question.legal
        if not question.for_points:
            return super()._tiles(state, [row], [question])[0]
        play = WorldPlay(self.game, state, row, question.seat, self.weights)
        worlds, _ = believed_worlds(play, question, self.candidates, self.worlds, self.trust)
        score, held = np.zeros(28), question.worlds(worlds[: self.solved])
        if self.share > 0:
            score += self.share * self._averager.solver.make_after(held, question.bid, question.banked).mean(axis=0)
        # of the bidder's side; the other side wants the contract to fail
        score *= 1 if question.declares else -1
        if self.prior > 0:
            tiles = np.array(tiles_of(legal), np.int64)
            score[tiles] += self.prior * play.log_chances(tiles, WEIGHTS)
        if self.share < 1:
            score, legal = self._played_out(play, question, worlds, score)
        return best_by_points(self._averager.solver, [question], [held], [tiles_with_most(score, legal)])[0]

    def _played_out(
        self, play: WorldPlay, question: Question, worlds: NDArray[np.int32], score: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], int]:
        """Score (28,) with the part of hands played out, and the mask of the tiles that were played out in all worlds.

        Worlds come in rounds, each up to four times as many; a tile that is clearly behind after a round gets no more.
        """
        tiles, sign = np.array(tiles_of(question.legal), np.int64), (1 - self.share) * (1 if question.declares else -1)
        made = np.zeros((0, len(tiles)), np.bool_)
        while len(made) < len(worlds) and len(tiles) > 1:
            stop = max(ROUND, 4 * len(made))
            made = np.concatenate([made, play.made_after(worlds[:stop], tiles, question.key, first=len(made))])
            scores = score[tiles] + sign * made.mean(axis=0)
            best = scores.argmax()
            errors = abs(sign) * (made * 1.0 - made[:, [best]]).std(axis=0) / np.sqrt(len(made))
            kept = scores[best] - scores <= SURE * errors
            tiles, made, scores = tiles[kept], made[:, kept], scores[kept]
        found = score.copy()
        found[tiles] = scores
        return found, mask_of(tiles)
