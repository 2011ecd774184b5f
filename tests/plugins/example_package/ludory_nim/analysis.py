"""Every move of Nim, solved: the analysis board and `ludory analyse` show it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludory.agents.analysis import Analyst, ExactSearch, GameAnalysis, MoveSearch, StudiedPosition, mover


class NimAnalyst(Analyst):
    """A move wins if it leaves heaps whose sizes have exclusive-or 0."""

    def search(self, position: StudiedPosition, key: int) -> MoveSearch:
        """The exact values."""
        seat, heaps = mover(position), position.engine.state.heaps[0]
        moves = position.legal(seat)
        largest = position.game.facts.num_actions // len(heaps)
        left = np.tile(heaps, (len(moves), 1))
        left[np.arange(len(moves)), moves // largest] -= moves % largest + 1
        values = np.where(np.bitwise_xor.reduce(left, axis=1) == 0, 1.0, -1.0)
        names = [position.name(move) for move in moves]
        return ExactSearch(seat, moves.tolist(), names, values, "exclusive-or of the heaps", "return")


class NimAnalysis(GameAnalysis):
    """Perfect play is known."""

    def analyst(self, agent: str | None, seats: Sequence[int] | None) -> Analyst | None:
        """The solver, unless an agent shall play on."""
        return NimAnalyst() if agent is None else None
