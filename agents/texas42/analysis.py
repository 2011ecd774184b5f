"""Analysis of Texas 42: tiles by E[Q] in worlds solved with open hands, and who may hold which tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ludory.agents.analysis import (
    SAMPLES,
    AgentAnalyst,
    Analyst,
    Difference,
    Floats,
    GameAnalysis,
    HiddenCards,
    MoveSearch,
    MoveValues,
    PairedSearch,
    StudiedPosition,
    mover,
)
from ludory.envs import Game, hash_rows
from ludory.envs.texas42.tiles import ALL_TILES, TILE_NAMES, tiles_of
from ludory.envs.texas42.worlds import Worlds, knowledge

from .expected_value.decision_value import DecisionValue, WorldSampling, value_of
from .play.choice import Question, question_of
from .play.pimc import first_tile, is_texas42
from .solver.solver import Solver

WORLDS = 50
"""Worlds of a round of E[Q]."""
QUICK = "texas42/quick"


class TileAnalyst(Analyst):
    """Texas 42: E[Q] of every tile, and P(make); bids and declarations are played on by `agent`.

    Nothing is inferred from the plays of others but voids.
    """

    def __init__(self, game: Game, agent: str) -> None:
        self._solver, self._bids = Solver(), AgentAnalyst(game, agent)

    def follow(self, position: StudiedPosition) -> None:
        """Update what the agent remembers."""
        self._bids.follow(position)

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """Solved worlds for tiles, games played on for bids, declarations, nello and sevens."""
        seat = mover(position)
        mask = position.seat(seat).mask
        if mask[-28:].any():
            question = question_of(position.engine.state, 0, mask[-28:], key)
            if question.for_points:
                return _TileSearch(self._solver, position, seat, question, first_tile(mask))
        return self._bids.search(position, key)


class _TileSearch(PairedSearch):
    def __init__(self, solver: Solver, position: StudiedPosition, seat: int, question: Question, first: int) -> None:
        moves = position.legal(seat)
        method = (
            "E[Q] and the points won so far: worlds that agree with what the seat knows, each solved with open hands"
        )
        points = position.engine.state.points[0]
        super().__init__(
            seat,
            moves.tolist(),
            [position.name(move) for move in moves],
            method,
            "points, own minus theirs",
            float(points[seat % 2] - points[1 - seat % 2]),
        )
        self._tiles = tuple(int(move) - first for move in moves)
        self._solver, self._state, self._question = solver, position.engine.clone().state, question
        self._made, self._every = np.zeros(len(moves)), False

    def _value(self, number: int) -> DecisionValue:
        question = self._question._replace(key=int(hash_rows(self._question.key, number)))
        return value_of(self._solver, self._state, 0, question, WorldSampling(WORLDS))

    def returns(self, number: int) -> Floats:
        found = self._value(number)
        assert found.tiles == self._tiles
        self._every = found.enumerated
        self._made += found.p_make * found.samples
        return found.q.astype(np.float64)

    @property
    def done(self) -> bool:
        """Whether all worlds were solved."""
        return self._every

    @property
    def rollouts(self) -> int:
        """Solved worlds."""
        return self.moments.worlds

    def values(self) -> MoveValues:
        """As `PairedSearch.values`, with the probabilities of making the contract; without errors if all worlds were solved."""
        found = super().values()
        chances = np.minimum(self._made / max(self.moments.worlds, 1), 1)  # shares of worlds are rounded
        if not self._every:
            return found._replace(chances=chances)
        method = f"{found.method}; all {self.moments.worlds} worlds were solved"
        return found._replace(chances=chances, stderrs=np.zeros(len(self.moves)), exact=True, method=method)

    def difference(self, a: int, b: int) -> Difference:
        """Without error if all worlds were solved."""
        found = super().difference(a, b)
        return found._replace(stderr=0.0) if self._every else found


class Texas42Analysis(GameAnalysis):
    """E[Q], and the deals that agree with what was played."""

    not_asked = ("texas42/response", "texas42/best")

    def analyst(self, agent: str | None, seats: Sequence[int] | None) -> Analyst:
        """E[Q]; bids and declarations are played on by `agent`."""
        return TileAnalyst(self.game, agent or QUICK)

    def hidden(
        self, position: StudiedPosition, seat: int, analyst: Analyst | None, key: int, shown: bool
    ) -> HiddenCards | None:
        """The probability of every holder of a tile."""
        state: Any = position.engine.state
        known = knowledge(state, 0, seat)
        tiles = tiles_of(known.unseen & ALL_TILES)
        if not tiles:
            return None
        worlds = Worlds(known)
        hands = worlds.choose(SAMPLES, key, SAMPLES)
        shares = np.array([[(hands[:, k] >> tile & 1).mean() for k in range(3)] for tile in tiles])
        others = [(seat + k) % 4 for k in (1, 2, 3)]
        truth = None
        if shown:
            held = [int(state.held[0, other]) for other in others]
            truth = tuple(next(k for k, mask in enumerate(held) if mask >> tile & 1) for tile in tiles)
        names = tuple(TILE_NAMES[tile] for tile in tiles)
        every = f"all {worlds.count}" if len(hands) == worlds.count else f"{len(hands)} of {worlds.count:,}"
        note = f"{every} deals that agree with what was played; nothing is inferred from plays but voids"
        return HiddenCards(
            "Who holds which tile", names, tuple(f"seat {other}" for other in others), shares, truth, note
        )


def analysis(game: Game) -> Texas42Analysis | None:
    """The analysis of Texas 42; None for other rules."""
    return Texas42Analysis(game) if is_texas42(game) else None
