"""Matches of Texas 42 between two teams, each deal played with the teams in both places, and the contracts that they reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.evaluation_result import estimate
from ludory.envs.engine.protocol import Array, Engine
from ludory.envs.texas42.state import HAND_BID, HAND_BIDDER, MADE, SET, SETTLED
from ludory.envs.texas42.tiles import DECLARATIONS

PAIRS = 10
"""Of matches in one file."""
GAME = "Texas42Match-v0"


class Reached(NamedTuple):
    """A contract of a match."""

    first: bool
    """Whether the bidder is of the first team."""
    bid: int
    decl: int
    made: bool


class Pair(NamedTuple):
    """Two matches on the same deals."""

    ahead: tuple[float, float]
    """Marks that the first team is ahead as Team 0, and then as Team 1."""
    reached: list[Reached]
    """Contracts of both."""


class Scribe:
    """Records the contracts of all games of an engine; a `Listener`, to be called once more at the end."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._decl = engine, np.full(engine.num_games, -1)
        self.reached: list[list[tuple[int, int, int, bool]]] = [[] for _ in range(engine.num_games)]
        """By game: bidder, bid, declaration, whether it was made."""

    def __call__(self, rows: Array, seats: Array, actions: Array) -> None:
        """Record the contracts that the last move ended."""
        state = self._engine.state
        for row in rows:
            last = state.last[row]
            if int(last[SETTLED]) in (MADE, SET):
                made = int(last[SETTLED]) == MADE
                self.reached[row].append((int(last[HAND_BIDDER]), int(last[HAND_BID]), int(self._decl[row]), made))
            self._decl[row] = state.decl[row]


def play_pairs(first: str, second: str, number: int, seed: int) -> list[Pair]:
    """Pairs of matches number PAIRS * `number` and on; they depend on players, seed and number alone."""
    (forward, those), (backward, these) = (_played(first, second, place, number, seed) for place in (0, 1))
    return [
        Pair((float(forward[k]), float(backward[k])), _reached(those[k], 0) + _reached(these[k], 1))
        for k in range(PAIRS)
    ]


def _reached(contracts: list[tuple[int, int, int, bool]], place: int) -> list[Reached]:
    """Contracts of a match in which the first team was Team `place`."""
    return [Reached(bidder % 2 == place, bid, decl, made) for bidder, bid, decl, made in contracts]


def _played(
    first: str, second: str, place: int, number: int, seed: int
) -> tuple[NDArray[np.float32], list[list[tuple[int, int, int, bool]]]]:
    """Marks that the first player's team is ahead, sitting in the seats `place` and `place` + 2, and the contracts."""
    scribes: list[Scribe] = []

    def watch(engine: Engine) -> Scribe:
        scribes.append(Scribe(engine))
        return scribes[-1]

    seats = [first, second] * 2 if place == 0 else [second, first] * 2
    found = evaluate(seats, GAME, PAIRS, seed, first_game=PAIRS * number, watch=watch, reward="marks")
    (scribe,) = scribes
    scribe(np.arange(PAIRS), np.empty(0), np.empty(0))
    return found.returns[:, place], scribe.reached


def summary(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Lead of the first team in marks per game, with a bootstrap interval by pair; wins; contracts of both teams."""
    ahead = np.array([pair.ahead for pair in pairs])
    contracts = [one for pair in pairs for one in pair.reached]
    return {
        "pairs": len(pairs),
        "marks_per_game": estimate(ahead.mean(axis=1))._asdict(),
        "wins": float((ahead > 0).mean()),
        "hands": len(contracts),
        **{
            name: _side([c for c in contracts if c.first == is_first], len(contracts))
            for name, is_first in (("first", True), ("second", False))
        },
    }


def _side(contracts: Sequence[Reached], of: int) -> dict[str, Any]:
    """The bids of a team, and how often it made its contracts."""
    bids, decls = Counter(one.bid for one in contracts), Counter(one.decl for one in contracts)
    return {
        "auctions_won": len(contracts) / max(1, of),
        "made": sum(one.made for one in contracts) / max(1, len(contracts)),
        "bids": {str(bid): bids[bid] for bid in sorted(bids)},
        "declarations": {DECLARATIONS[decl]: decls[decl] for decl in sorted(decls)},
    }
