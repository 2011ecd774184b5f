"""`texas42/bidder`: bids what its hand makes often enough, and lets another agent play the tiles."""

from __future__ import annotations

from collections.abc import Sequence
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

    P(make) is computed once per hand, from its seven tiles only. The agent never plunges, splashes, or declares nello or sevens.
    Minima are one number, or four by place in the auction, from the seat that opens to the shaker.

    Args:
        game: Texas 42 with an auction.
        play: agent that chooses the tiles.
        mode: how P(make) is computed, see `make_probability.py` and `fitted_make_probability.py`.
        samples: hands played or solved per declaration by `rollout` and `double_dummy`.
        threshold: minimum P(make) of a bid while nobody has bid.
        against: the same over an opponent's bid: losing a contract costs less if the opponent would have made its own.
        over_partner: the same over the partner's bid, in the last two places; None: never.
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
        threshold: float | Sequence[float] = 0.5,
        against: float | Sequence[float] = 0.5,
        over_partner: float | Sequence[float] | None = None,
        marks: float = 0.75,
        calibration: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, play)
        check_choice("mode", mode, get_args(Mode))
        check_range("samples", samples, 1, 100_000)
        if not 0 <= marks <= 1:
            raise OptionError(f"marks={marks!r}: must lie in 0..1")
        self.mode, self.samples, self.marks = mode, samples, marks
        self._over_nobody, self._over_opponent = _by_place("threshold", threshold), _by_place("against", against)
        self._over_partner = None if over_partner is None else _by_place("over_partner", over_partner)
        self._model: Calibration = read_calibration(calibration) if calibration else shipped()
        self._seed, self._solver = seed, Solver()
        self._known: dict[int, Chances] = {}

    def bid(self, state: State, row: int, seat: int, mask: NDArray[np.bool_]) -> int:
        """Action id in the auction or for a declaration, from the own hand and the bids."""
        found = self.chances(int(state.dealt[row, seat]))
        if mask[DECLARE_0]:
            return DECLARE_0 + found.best(int(state.bid[row]))
        held_by = int(state.bidder[row]) if state.bid[row] else -1
        minima = self._over_nobody if held_by < 0 else self._over_opponent
        if held_by == (seat + 2) % 4:
            if self._over_partner is None:
                return PASS
            minima = self._over_partner
        least = minima[(seat - int(state.shaker[row]) - 1) % 4]
        actions = [int(action) for action in np.flatnonzero(mask[:PLUNGE]) if action != PASS]
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


def _by_place(name: str, value: float | Sequence[float]) -> list[float]:
    """Four minima.

    Raises:
        OptionError: neither a number in 0..1 nor four of them.
    """
    minima = list(value) if isinstance(value, Sequence) else [value] * 4
    if len(minima) != 4 or not all(isinstance(one, (int, float)) and 0 <= one <= 1 for one in minima):
        raise OptionError(f"{name}={value!r}: must lie in 0..1, or be four such numbers, by place in the auction")
    return minima


def bid_of(action: int) -> int:
    """The bid of an action id: 30..41 points, or 42 m for m marks."""
    return action - BID_30 + 30 if action < ONE_MARK else 42 * (action - ONE_MARK + 1)
