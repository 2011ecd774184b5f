"""Who won how often against whom, with older games counting less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]
MIN_GAMES = 8
"""Decayed games below which matchmaking takes a pair for even."""


class Payoff:
    """Decayed counts of games, wins, draws and losses of every ordered pair (row against column).

    After each game the counts of both orders of its pair are multiplied by `decay`, then 1 is added where due. With decay 0.99 they
    converge to 100 games, which are worth (1 + d)/(1 - d) = 199 independent ones. A match of a player with itself changes nothing.

    Args:
        players: how many, numbered from 0.
        decay: above 0, at most 1; 1 counts every game alike (two frozen players never change).

    Raises:
        OptionError: an argument is out of range.
    """

    def __init__(self, players: int, decay: float = 0.99) -> None:
        if players < 0:
            raise OptionError(f"players={players}: must be 0 or more")
        if not 0 < decay <= 1:
            raise OptionError(f"decay={decay}: must be above 0 and at most 1, such as 0.99")
        self.decay = float(decay)
        self._counts = np.zeros((3, players, players))  # wins, draws, losses

    def __len__(self) -> int:
        return self._counts.shape[-1]

    @property
    def wins(self) -> Floats:
        """[n, n]."""
        return np.asarray(self._counts[0])

    @property
    def draws(self) -> Floats:
        """[n, n]."""
        return np.asarray(self._counts[1])

    @property
    def losses(self) -> Floats:
        """[n, n]."""
        return np.asarray(self._counts[2])

    @property
    def games(self) -> Floats:
        """[n, n], decayed number of games."""
        return np.asarray(self._counts.sum(0))

    def add(self, home: int, away: int, outcome: int) -> None:
        """Count one game.

        Args:
            home: a player.
            away: its opponent.
            outcome: 1 if home won, 0 for a draw, -1 if away won.

        Raises:
            OptionError: there is no such player or outcome.
        """
        for player in (home, away):
            self._check(player)
        if outcome not in (1, 0, -1):
            raise OptionError(f"outcome={outcome!r}: must be 1 (home won), 0 (draw) or -1 (away won)")
        if home == away:
            return
        for row, column, won in ((home, away, outcome), (away, home, -outcome)):
            cell = self._counts[:, row, column]
            cell *= self.decay
            cell[1 - int(won)] += 1

    def grow(self) -> int:
        """Add a player without games; gives its number."""
        self._counts = np.pad(self._counts, ((0, 0), (0, 1), (0, 1)))
        return len(self) - 1

    def reset(self, player: int) -> None:
        """Forget the games of a player that starts anew, in its row and in the others' rows."""
        self._check(player)
        self._counts[:, player, :] = 0
        self._counts[:, :, player] = 0

    def win_rate(self, min_games: float = 0.0) -> Floats:
        """[n, n], (wins + draws/2)/games of row against column; 0.5 on the diagonal, without games and below `min_games`."""
        games = self.games
        known = (games > 0) & (games >= min_games)
        return np.asarray(np.where(known, (self.wins + self.draws / 2) / np.where(known, games, 1), 0.5))

    def to_json(self) -> dict[str, Any]:
        """What `from_json` takes: JSON keeps every bit of it."""
        return {"decay": self.decay, "counts": self._counts.tolist()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Payoff:
        """The table that `to_json` described.

        Raises:
            OptionError: it is not such a description.
        """
        try:
            counts = np.asarray(content["counts"], np.float64).reshape(3, -1)
            players = round((counts.shape[1]) ** 0.5)
            payoff = cls(players, float(content["decay"]))
            payoff._counts = counts.reshape(3, players, players)
        except (KeyError, TypeError, ValueError) as error:
            raise OptionError(f"not a payoff table ({error}); it must be what Payoff.to_json gave") from error
        return payoff

    def _check(self, player: int) -> None:
        if not 0 <= player < len(self):
            raise OptionError(f"player {player}: this table has players 0 to {len(self) - 1}")


def mirrored_pairs(outcomes: str) -> tuple[int, int, int, int, int]:
    """Pairs of mirrored games by the points that they gave together: 0, 1/2, 1, 3/2, 2.

    Args:
        outcomes: "w", "d" or "l" a game; game k and its mirror k + games/2 have one start.

    Raises:
        OptionError: an odd number of games.
    """
    half = len(outcomes) // 2
    if 2 * half != len(outcomes):
        raise OptionError(f"{len(outcomes)} games: mirrored games come in pairs")
    points = [
        "ldw".index(one) + "ldw".index(other) for one, other in zip(outcomes[:half], outcomes[half:], strict=True)
    ]
    return points.count(0), points.count(1), points.count(2), points.count(3), points.count(4)
