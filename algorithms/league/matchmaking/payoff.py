"""`Payoff`: results of all pairs of players, in which older games count less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError

Floats = NDArray[np.float64]
_MIRRORED = str.maketrans("wl", "lw")


class _Pair:
    """Games of two players for the one with the smaller number; the other's are the exact mirror image."""

    __slots__ = ("counts", "waiting")

    def __init__(self, counts: list[float]) -> None:
        self.counts = counts  # wins, draws, losses
        self.waiting: list[str] = []

    def settled(self, decay: float) -> list[float]:
        """The counts with all waiting games."""
        if self.waiting:
            wins, draws, losses = self.counts
            for outcome in "".join(self.waiting):
                wins, draws, losses = wins * decay, draws * decay, losses * decay
                if outcome == "w":
                    wins += 1
                elif outcome == "d":
                    draws += 1
                else:
                    losses += 1
            self.counts, self.waiting = [wins, draws, losses], []
        return self.counts


class Payoff:
    """Decayed counts of games, wins, draws and losses of every ordered pair (row against column).

    After each game the counts of both orders of its pair are multiplied by `decay`, then 1 is added to the result. With decay 0.99
    they converge to 100 games, which are worth (1 + d)/(1 - d) = 199 independent ones. Games of a player with itself change nothing.

    Only pairs that played are stored, and their games are counted when they are read: a league of thousands of players has few
    learners, and only their rows are read.

    Args:
        players: how many, numbered from 0.
        decay: above 0, at most 1; 1 counts every game alike.

    Raises:
        OptionError: an argument is out of range.
    """

    def __init__(self, players: int, decay: float = 0.99) -> None:
        if players < 0:
            raise OptionError(f"players={players}: must be 0 or more")
        if not 0 < decay <= 1:
            raise OptionError(f"decay={decay}: must be above 0 and at most 1, such as 0.99")
        self.decay = float(decay)
        self._rows: list[dict[int, _Pair]] = [{} for _ in range(players)]  # one `_Pair` stands in the rows of both

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def counts(self) -> Floats:
        """[3, n, n], decayed wins, draws and losses of row against column."""
        return np.stack([self._row(player) for player in range(len(self))], 1) if len(self) else np.zeros((3, 0, 0))

    @property
    def games(self) -> Floats:
        """[n, n], decayed number of games."""
        return np.asarray(self.counts.sum(0))

    def games_of(self, player: int) -> Floats:
        """[n], row of `games`."""
        return np.asarray(self._row(player).sum(0))

    def add_games(self, home: int, away: int, outcomes: str) -> None:
        """Count games in order.

        Args:
            home: a player.
            away: its opponent.
            outcomes: "w", "d" or "l" a game, for `home`.

        Raises:
            OptionError: unknown player or outcome.
        """
        self._check(home)
        self._check(away)
        if outcomes.strip("wdl"):
            raise OptionError(f"outcomes={outcomes!r}: must be 'w', 'd' or 'l' a game")
        if home == away:
            return
        pair = self._rows[home].get(away)
        if pair is None:
            pair = self._rows[home][away] = self._rows[away][home] = _Pair([0.0, 0.0, 0.0])
        pair.waiting.append(outcomes if home < away else outcomes.translate(_MIRRORED))

    def grow(self) -> int:
        """Add a player without games; returns its number."""
        self._rows.append({})
        return len(self) - 1

    def reset(self, player: int) -> None:
        """Remove the games of a player that is reset from all rows."""
        self._check(player)
        for other in self._rows[player]:
            del self._rows[other][player]
        self._rows[player] = {}

    def win_rate(self, min_games: float = 0.0) -> Floats:
        """[n, n], (wins + draws/2)/games of row against column; 0.5 on the diagonal, without games and below `min_games`."""
        return _rates(self.counts, min_games)

    def win_rate_of(self, player: int, min_games: float = 0.0) -> Floats:
        """[n], row of `win_rate`."""
        return _rates(self._row(player), min_games)

    def _row(self, player: int) -> Floats:
        """[3, n]."""
        self._check(player)
        row = np.zeros((3, len(self)))
        for other, pair in self._rows[player].items():
            counts = pair.settled(self.decay)
            row[:, other] = counts if player < other else counts[::-1]
        return row

    def to_json(self) -> dict[str, Any]:
        """The table as JSON, without rounding; `from_json` reads it."""
        pairs = [
            [first, second, *pair.settled(self.decay)]
            for first, row in enumerate(self._rows)
            for second, pair in sorted(row.items())
            if first < second
        ]
        return {"decay": self.decay, "players": len(self), "pairs": pairs}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Payoff:
        """The table of `to_json`, or of earlier versions with all [3, n, n] numbers as "counts".

        Raises:
            OptionError: it is not such a table.
        """
        try:
            if "counts" in content:
                counts = np.asarray(content["counts"], np.float64).reshape(3, -1)
                players = round(counts.shape[1] ** 0.5)
                table = counts.reshape(3, players, players)
                played = np.argwhere(np.triu(table.sum(0), 1) > 0).tolist()
                pairs = [[i, j, *table[:, i, j].tolist()] for i, j in played]
            else:
                players, pairs = int(content["players"]), content["pairs"]
            payoff = cls(players, float(content["decay"]))
            for first, second, wins, draws, losses in pairs:
                pair = _Pair([float(wins), float(draws), float(losses)])
                payoff._rows[first][second] = payoff._rows[second][first] = pair
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise OptionError(f"not a payoff table ({error}); it must be the result of Payoff.to_json") from error
        return payoff

    def _check(self, player: int) -> None:
        if not 0 <= player < len(self):
            raise OptionError(f"player {player}: this table has players 0 to {len(self) - 1}")


def _rates(counts: Floats, min_games: float) -> Floats:
    """Rates of wins, draws and losses, [3, ...]."""
    games = counts.sum(0)
    known = (games > 0) & (games >= min_games)
    return np.asarray(np.where(known, (counts[0] + counts[1] / 2) / np.where(known, games, 1), 0.5))


def mirrored_pairs(outcomes: str) -> tuple[int, int, int, int, int]:
    """Numbers of mirrored pairs of games with 0, 1/2, 1, 3/2 and 2 points together.

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
