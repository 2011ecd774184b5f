"""Values of the moves at one position: `MoveValues`, and `MoveSearch`, which refines them round by round."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Values of moves: returns, in points of the game."""
LEAST_ROUNDS = 4
"""Rounds of every search that is not exact, so that errors are known."""
SLICE = 0.05
"""Seconds of a slice of work, after which results are shown."""


class MoveValues(NamedTuple):
    """Values of A moves of one seat."""

    seat: int
    moves: tuple[Any, ...]
    """Actions, or names of plans."""
    names: tuple[str, ...]
    values: Floats
    """(A,): what the seat ends with, in `unit`; NaN where a move was not tried."""
    stderrs: Floats
    """(A,): standard errors of `values`; 0 where they are exact, infinite after a single trial."""
    rollouts: int
    """Games played out, simulations or solved worlds so far."""
    method: str
    """How the values were found, one sentence."""
    unit: str
    exact: bool
    chances: Floats | None = None
    """(A,): probability that the seat's side makes its contract; None: not asked."""

    @property
    def best(self) -> int:
        """Index of the move with the highest value, the first among equals."""
        return int(np.nanargmax(self.values)) if np.isfinite(self.values).any() else 0

    def order(self) -> list[int]:
        """Indices from the best move to the worst."""
        return sorted(range(len(self.moves)), key=lambda k: -self.values[k] if np.isfinite(self.values[k]) else np.inf)


class Difference(NamedTuple):
    """How much better one move is than another, in the same worlds."""

    mean: float
    stderr: float


class PairedMoments:
    """Mean returns of `count` moves that were tried in the same worlds, and of their differences."""

    def __init__(self, count: int) -> None:
        self.worlds = 0
        self._sums, self._products = np.zeros(count), np.zeros((count, count))
        self._first: Floats | None = None

    def add(self, returns: Floats) -> None:
        """Add returns (n, count) of n more worlds."""
        if self._first is None:
            self._first = returns[0].copy()  # moments about a typical value lose no digits
        centred = returns - self._first
        self.worlds += len(returns)
        self._sums += centred.sum(axis=0)
        self._products += centred.T @ centred

    @property
    def means(self) -> Floats:
        """(count,); NaN before the first world."""
        if self._first is None:
            return np.full(len(self._sums), np.nan)
        return np.asarray(self._first + self._sums / self.worlds)

    @property
    def stderrs(self) -> Floats:
        """(count,) standard errors of `means`; infinite for fewer than two worlds."""
        return self._errors(np.diagonal(self._products), self._sums)

    def difference(self, a: int, b: int) -> Difference:
        """The mean of a minus that of b, with the standard error over worlds."""
        squares = self._products[a, a] + self._products[b, b] - 2 * self._products[a, b]
        error = self._errors(np.array([squares]), np.array([self._sums[a] - self._sums[b]]))
        means = self.means
        return Difference(float(means[a] - means[b]), float(error[0]))

    def _errors(self, squares: Floats, sums: Floats) -> Floats:
        n = self.worlds
        if n < 2:
            return np.full(len(sums), np.inf)
        return np.sqrt(np.maximum(squares - sums**2 / n, 0) / (n - 1) / n)


class MoveSearch(ABC):
    """Values of moves at one position. The same key and number of rounds give the same values, however rounds are cut into slices."""

    @abstractmethod
    def more(self) -> None:
        """Do one more round of work, a small part of a slice."""

    @property
    @abstractmethod
    def rollouts(self) -> int:
        """Games played out so far, or simulations, or solved worlds."""

    @property
    def done(self) -> bool:
        """Whether more rounds would change nothing."""
        return False

    @abstractmethod
    def values(self) -> MoveValues:
        """The values so far."""

    @abstractmethod
    def difference(self, a: int, b: int) -> Difference:
        """How much better move a is than move b."""

    def line(self, move: int, length: int) -> Sequence[tuple[str, float]]:
        """What the search expects from `moves[move]` on: at most `length` moves in words, each with its probability after those before."""
        return ()

    rounds: int = 0
    """Rounds done so far."""

    def enough(self, rollouts: int) -> bool:
        """Whether `run` with as many rollouts would do no more rounds."""
        return self.done or (self.rounds >= LEAST_ROUNDS and self.rollouts >= rollouts)

    def run(self, rollouts: int) -> MoveValues:
        """Do rounds until there are at least `rollouts` rollouts and `LEAST_ROUNDS` rounds, or nothing is left to do."""
        while not self.enough(rollouts):
            self._round()
        return self.values()

    def run_slice(self, rollouts: int, seconds: float = SLICE) -> None:
        """As `run`, but for at most about `seconds`."""
        stop = time.monotonic() + seconds
        while not self.enough(rollouts):
            self._round()
            if time.monotonic() >= stop:
                break

    def _round(self) -> None:
        self.more()
        self.rounds += 1


class PairedSearch(MoveSearch):
    """A search that tries all moves in the same worlds; subclasses write `returns`.

    Args:
        seat: whose moves.
        moves: actions, or names of plans.
        names: the moves in words.
        method: how values are found, one sentence.
        unit: of the values.
        base: what the seat has already, added to all values.
    """

    def __init__(
        self, seat: int, moves: Sequence[Any], names: Sequence[str], method: str, unit: str, base: float = 0.0
    ) -> None:
        self.seat, self.moves, self.names, self.method, self.unit = seat, tuple(moves), tuple(names), method, unit
        self.moments, self._base = PairedMoments(len(self.moves)), base

    @abstractmethod
    def returns(self, number: int) -> Floats:
        """Returns (n, A) from here on in the worlds of round `number`."""

    def more(self) -> None:
        """Try all moves in the worlds of the next round."""
        self.moments.add(self.returns(self.rounds))

    @property
    def rollouts(self) -> int:
        """Worlds times moves."""
        return self.moments.worlds * len(self.moves)

    def values(self) -> MoveValues:
        """Means over the worlds so far."""
        found, errors = self.moments.means + self._base, self.moments.stderrs
        return MoveValues(
            self.seat, self.moves, self.names, found, errors, self.rollouts, self.method, self.unit, False
        )

    def difference(self, a: int, b: int) -> Difference:
        """The mean difference in the same worlds."""
        return self.moments.difference(a, b)


class ExactSearch(MoveSearch):
    """Values that are known without trying; `unit` and `method` as in `MoveValues`, `line`: the moves that are then expected, in words."""

    def __init__(
        self,
        seat: int,
        moves: Sequence[Any],
        names: Sequence[str],
        values: Floats,
        method: str,
        unit: str,
        line: Sequence[str] = (),
    ) -> None:
        zeros = np.zeros(len(moves))
        self._found = MoveValues(seat, tuple(moves), tuple(names), values, zeros, 0, method, unit, True)
        self._line = tuple((name, 1.0) for name in line)

    def more(self) -> None:
        """Nothing is left to do."""

    @property
    def done(self) -> bool:
        """True."""
        return True

    @property
    def rollouts(self) -> int:
        """0: nothing was played out."""
        return 0

    def values(self) -> MoveValues:
        """The exact values."""
        return self._found

    def difference(self, a: int, b: int) -> Difference:
        """Without error."""
        return Difference(float(self._found.values[a] - self._found.values[b]), 0.0)

    def line(self, move: int, length: int) -> Sequence[tuple[str, float]]:
        """The solver's plan, from the best move on."""
        return self._line[:length] if move == self._found.best else ()
