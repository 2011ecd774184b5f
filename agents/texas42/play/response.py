"""`texas42/response`: plays the best tile when all seats continue with hidden hands, in worlds that explain the play so far.

Two estimates of P(make) are averaged. In one, all seats continue with a quick policy, each from its own knowledge: there is no
strategy fusion, but the players are weak. In the other all hands are open, as in `texas42/pimc`: the players are perfect and know too
much.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ludory.envs import Game, State, check_range
from ludory.envs.texas42.tiles import tiles_of
from ludory.errors import OptionError

from .belief import Trust, WorldPlay, believed_worlds
from .choice import Question, best_by_points, tiles_with_most
from .fast_policy import LEVELS, read_weights
from .pimc import PimcAgent


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
        self.weights = read_weights(LEVELS[level - 1] if policy is None else Path(policy))
        self.trust = Trust() if declared else Trust(declaration=0.0)

    def _tiles(self, state: State, rows: Sequence[int], questions: Sequence[Question]) -> list[int]:
        """A tile for each question, which is about one of the games `rows`."""
        return [self._tile(state, row, one) for row, one in zip(rows, questions, strict=True)]

    def _tile(self, state: State, row: int, question: Question) -> int:
        legal = question.legal
        if not question.for_points:
            return super()._tiles(state, [row], [question])[0]
        play, tiles = WorldPlay(self.game, state, row, question.seat, self.weights), np.array(tiles_of(legal), np.int64)
        worlds, _ = believed_worlds(play, question, self.candidates, self.worlds, self.trust)
        chance = np.zeros(28)
        if self.share < 1:
            chance[tiles] = (1 - self.share) * play.made_after(worlds, tiles, question.key).mean(axis=0)
        held = question.worlds(worlds[: self.solved])
        if self.share > 0:
            chance += self.share * self._averager.solver.make_after(held, question.bid, question.banked).mean(axis=0)
        best = tiles_with_most(chance if question.declares else -chance, legal)
        return best_by_points(self._averager.solver, [question], [held], [best])[0]
