"""`texas42/bidder`: bids what its hand makes often enough, and lets another agent play the tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.bots import Bidding
from ludory.agents.texas42.solver.solver import Solver
from ludory.envs import Game, State, check_choice, check_range
from ludory.envs.texas42.state import BID_30, DECLARE_0, ONE_MARK, PASS, PLUNGE
from ludory.errors import OptionError

from .fitted_make_probability import Calibration, calibrated, mapped, read_calibration, shipped
from .make_probability import Chances, double_dummy, rollout

Mode = Literal["calibrated", "mapped", "rollout", "double_dummy"]
MEMORY = 4096
"""Number of hands whose probabilities are cached."""


class BidderAgent(Bidding):
    """Makes the lowest bid if its best declaration makes it often enough, and two marks or more if it nearly always wins all tricks.

    P(make) is computed once per hand, from its seven tiles only. The agent passes if its partner has bid, and never plunges,
    splashes, or declares nello or sevens.

    Args:
        game: Texas 42 with an auction.
        play: agent that chooses the tiles.
        mode: how P(make) is computed, see `make_probability.py` and `fitted_make_probability.py`.
        samples: hands played or solved per declaration by `rollout` and `double_dummy`.
        threshold: minimum P(make) of a bid while nobody has bid.
        against: the same if an opponent has bid: losing a contract costs less if the opponent would have made its own.
        marks: minimum P(all 42 points) for two marks or more.
        calibration: file written by `ludory texas42 calibrate`; None: the one shipped with Ludory.
        seed: of the deals that `rollout`, `double_dummy` and `mapped` draw.

    Raises:
        OptionError: the game is not Texas 42 or has no auction, or an option is invalid.
        DataError: the calibration file cannot be read.
    """

    name = "texas42/bidder"

    def __init__(
        self,
        game: Game,
        play: object = "texas42/pimc",
        mode: Mode = "calibrated",
        samples: int = 50,
        threshold: float = 0.5,
        against: float = 0.5,
        marks: float = 0.75,
        calibration: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, play)
        check_choice("mode", mode, get_args(Mode))
        check_range("samples", samples, 1, 100_000)
        for name, value in (("threshold", threshold), ("against", against), ("marks", marks)):
            if not 0 <= value <= 1:
                raise OptionError(f"{name}={value!r}: must lie in 0..1")
        self.mode, self.samples = mode, samples
        self.threshold, self.against, self.marks = threshold, against, marks
        self._model: Calibration = read_calibration(calibration) if calibration else shipped()
        self._seed, self._solver = seed, Solver()
        self._known: dict[int, Chances] = {}

    def bid(self, state: State, row: int, seat: int, mask: NDArray[np.bool_]) -> int:
        """Action id in the auction or for a declaration, from the own hand and the bids."""
        found = self.chances(int(state.dealt[row, seat]))
        if mask[DECLARE_0]:
            return DECLARE_0 + found.best(int(state.bid[row]))
        held_by = int(state.bidder[row]) if state.bid[row] else -1
        if held_by == (seat + 2) % 4:
            return PASS
        actions = [int(action) for action in np.flatnonzero(mask[:PLUNGE]) if action != PASS]
        least = self.threshold if held_by < 0 else self.against
        # two marks or more first, if they are sure enough; then the lowest bid
        for action in [*[a for a in actions if a > ONE_MARK][:1], *actions[:1]]:
            chance = found.chance(found.best(bid_of(action)), bid_of(action))
            if chance >= (self.marks if action > ONE_MARK else least):
                return action
        return PASS if mask[PASS] else actions[0]

    def chances(self, hand: int) -> Chances:
        """P(make) of a hand in this agent's mode; cached for `MEMORY` hands."""
        if hand not in self._known:
            if len(self._known) >= MEMORY:
                self._known.clear()
            self._known[hand] = self._found(hand)
        return self._known[hand]

    def _found(self, hand: int) -> Chances:
        key = self._seed ^ hand
        if self.mode == "calibrated":
            return calibrated(hand, model=self._model)
        if self.mode == "mapped":
            return mapped(hand, key, model=self._model, solver=self._solver)
        if self.mode == "double_dummy":
            return double_dummy(hand, self.samples, key, solver=self._solver)
        return rollout(hand, self.samples, key)


def bid_of(action: int) -> int:
    """The bid of an action id: 30..41 points, or 42 m for m marks."""
    return action - BID_30 + 30 if action < ONE_MARK else 42 * (action - ONE_MARK + 1)
