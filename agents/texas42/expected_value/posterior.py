"""Weights of worlds by how well they explain the plays of others, who are assumed to prefer tiles with higher open-hand values.

In each world every past play of another seat is evaluated: its hand then, the tiles it could have played, and the exact value of each
from its side. A play that loses many points makes the world unlikely. Own plays are no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.play.choice import Question
from ludory.agents.texas42.solver.solver import ILLEGAL, OpenHandValues, positions
from ludory.envs import State, check_range
from ludory.limits import Fraction, PositiveFloat, check_limits

Floats = NDArray[np.float64]
FEW, VERY_FEW = 10.0, 3.0
"""Effective sample sizes below which plays are trusted less, and weights are mixed with equal ones."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """How plays weight worlds. The first pipeline had `Posterior(window=4, tau=0.1)`."""

    window: int = 8
    """Number of last plays of other seats that count."""
    tau: PositiveFloat = 10.0
    """Softmax temperature in points."""
    slip: Fraction = 0.1
    """Probability that a seat plays a uniformly random legal tile."""
    clip: PositiveFloat = 30.0
    """Largest difference of log-likelihood from the best world."""

    def __post_init__(self) -> None:
        check_range("window", self.window, 1, 28)
        check_limits(self)


class PastPlay(NamedTuple):
    """A played tile, and its trick."""

    seat: int
    tile: int
    leader: int
    trick: tuple[int, ...]
    """Tiles that lay in the trick before it."""
    later: tuple[int, int, int, int]
    """By seat, mask of the tiles played with it or after it."""


def past_plays(state: State, i: int) -> list[PastPlay]:
    """The plays of game `i`, oldest first; for declarations that four seats play."""
    count = int(state.plays[i])
    tiles, seats = state.tiles[i, :count].tolist(), state.seats[i, :count].tolist()
    later, plays = [0, 0, 0, 0], []
    for k in range(count - 1, -1, -1):
        later[seats[k]] |= 1 << tiles[k]
        start = k - k % 4
        plays.append(PastPlay(seats[k], tiles[k], seats[start], tuple(tiles[start:k]), tuple(later)))  # type: ignore[arg-type]
    return plays[::-1]


class PlayAdvantages(NamedTuple):
    """Value of a play and of its alternatives in each of n worlds."""

    q: NDArray[np.int16]
    """(n, 28) from the mover's side, `ILLEGAL` where a tile could not be played."""
    tile: int
    """The tile that was played."""


def advantages(
    solver: OpenHandValues, question: Question, held: NDArray[np.int32], plays: Sequence[PastPlay]
) -> list[PlayAdvantages]:
    """Values of each play in current worlds; held: (n, 4) masks of all seats.

    Raises:
        RuntimeError: a played tile was illegal in some world, so the worlds do not belong to this game.
    """
    found = []
    for play in plays:
        then = held | np.array(play.later, np.int32)
        q = solver.q_values(positions(then, question.decl, play.leader, play.trick, question.bidder))[1].astype(
            np.int16
        )
        if (q[:, play.tile] == ILLEGAL).any():
            world = int((q[:, play.tile] == ILLEGAL).argmax())
            raise RuntimeError(
                f"tile {play.tile} of seat {play.seat} could not be played in world {then[world].tolist()}"
            )
        found.append(
            PlayAdvantages(np.where(q == ILLEGAL, q, (1 if play.seat % 2 == 0 else -1) * q).astype(np.int16), play.tile)
        )
    return found


def log_likelihood(seen: Sequence[PlayAdvantages], count: int, tau: float, slip: float) -> Floats:
    """(n,) log-likelihood of the plays in each world: a softmax of advantages, mixed with a uniform choice."""
    total = np.zeros(count)
    for one in seen:
        legal = one.q != ILLEGAL
        number = legal.sum(axis=1)
        mean = np.where(legal, one.q, 0).sum(axis=1) / number
        logits = np.where(legal, (one.q - mean[:, None]) / tau, -np.inf)
        peak = logits.max(axis=1)
        chance = np.exp(logits[:, one.tile] - peak) / np.exp(logits - peak[:, None]).sum(axis=1)
        total += np.log((1 - slip) * chance + slip / number + 1e-30)
    return total


class WorldWeights(NamedTuple):
    """Weights of n worlds, which sum to 1, and their diagnostics."""

    weights: Floats
    ess: float
    """Effective sample size, 1 / sum of squares."""
    max_w: float
    entropy: float
    """In nats."""
    window_nll: float
    """Weighted mean of the negative log-likelihood of the plays."""

    @property
    def k_eff(self) -> float:
        """exp(entropy)."""
        return float(np.exp(self.entropy))


def equal_weights(count: int) -> WorldWeights:
    """Equal weights."""
    return WorldWeights(np.full(count, 1 / count), float(count), 1 / count, float(np.log(count)), 0.0)


def weigh(seen: Sequence[PlayAdvantages], count: int, rules: Posterior) -> WorldWeights:
    """Weights of all worlds of one decision; equal without plays."""
    if not seen:
        return equal_weights(count)
    logs = log_likelihood(seen, count, rules.tau, rules.slip)
    weights = normalised(logs, rules.clip)
    if ess_of(weights) < FEW:
        logs = log_likelihood(seen, count, rules.tau, min(1.0, rules.slip + 0.15))
        weights = normalised(logs, rules.clip)
        if ess_of(weights) < VERY_FEW:
            weights = 0.7 * weights + 0.3 / count
    entropy = -float((weights * np.log(np.maximum(weights, 1e-300))).sum())
    return WorldWeights(weights, ess_of(weights), float(weights.max()), entropy, -float((weights * logs).sum()))


def normalised(logs: Floats, clip: float) -> Floats:
    """Weights (n,) that sum to 1 from logarithms (n,)."""
    weights = np.exp(np.maximum(logs - logs.max(), -clip))
    return np.asarray(weights / weights.sum())


def ess_of(weights: Floats) -> float:
    """Effective number of worlds."""
    return float(1 / (weights**2).sum())


def evidence(state: State, i: int, observer: int, window: int) -> list[PastPlay]:
    """The last `window` plays of seats other than the observer in game `i`."""
    return [play for play in past_plays(state, i) if play.seat != observer][-window:]
