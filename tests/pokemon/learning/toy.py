"""A battle without a simulator: rows of `entity` at random, and a point for the seat that takes the stronger move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.agents.agent import Agent
from ludory.envs.engine.external import ExternalEngine
from ludory.envs.game import Game
from ludory.envs.parts import Analysis, Rules
from ludory.envs.pokemon.decisions import BattleDecisions

from .rows import battle_facts, random_rows

ROUNDS, MOVES, FIELD, POKEMON = 4, 684, 860, 152
SPEC = BattleDecisions(MOVES, FIELD, POKEMON)


class ToyEngine(ExternalEngine):
    """Four rounds; in each a seat chooses a move or a switch, is forced to switch, or waits. The greater sum of powers wins."""

    def start_games(self, rows: NDArray[np.int64], seeds: NDArray[np.int64], options: Any) -> None:
        """Deal the first rows."""
        if not hasattr(self, "draws"):
            self.draws: list[np.random.Generator | None] = [None] * self.num_games
            self.turn, self.points = np.zeros(self.num_games, int), np.zeros((self.num_games, 2))
        for row, seed in zip(rows, seeds, strict=True):
            self.draws[row] = np.random.default_rng(seed)
            self.turn[row], self.points[row] = 0, 0
            self._deal(row)

    def play_games(self, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Count powers; after the last round pay 1 to the winner."""
        for row, chosen in zip(rows, actions.reshape(len(rows), 2), strict=True):
            for seat in range(2):
                if self.state.deciding[row, seat] and chosen[seat] < 4:
                    self.points[row, seat] += self.state.observations[row, seat, MOVES + 22 * chosen[seat] + 13]
            self.turn[row] += 1
            self.state.rewards[row] = 0
            if self.turn[row] == ROUNDS:
                lead = np.sign(self.points[row, 0] - self.points[row, 1])
                self.state.rewards[row] = lead, -lead
                self.state.terminated[row] = True
            else:
                self._deal(row)

    def _deal(self, row: int) -> None:
        draw = self.draws[row]
        seen = random_rows(2, int(draw.integers(2**31))).numpy()
        seen[:, FIELD:] = 0
        legal = draw.random((2, 10)) < 0.7
        legal[:, 0] = True
        kinds = draw.random(2)
        for seat in range(2):
            if kinds[seat] < 0.2:  # a forced switch
                seen[seat, FIELD + 51], seen[seat, POKEMON + 4] = 1, 0
                legal[seat, :4], legal[seat, 4] = False, True
            elif kinds[seat] > 0.85 and kinds[1 - seat] <= 0.85:
                legal[seat] = False
                legal[seat, 0] = True
        self.state.deciding[row] = legal.sum(1) > 1
        self.state.deciding[row, 0] |= not self.state.deciding[row].any()
        self.state.observations[row], self.state.legal[row] = seen, legal


class Strongest(Agent):
    """The strongest legal move, else the first legal switch."""

    name = "strongest"

    def act(self, observation: Any, mask: Any, memory: Any) -> tuple[Any, Any]:
        """Actions (m,)."""
        return SPEC.choices(np.asarray(observation), np.asarray(mask, bool)), memory


def toy_battle() -> Game:
    """The game."""
    from dataclasses import replace

    facts = battle_facts(10, name="entity")
    return Game(
        replace(facts, name="pokemon", seats_wait=True, longest_game=ROUNDS),
        Rules(engine=ToyEngine),
        analysis=Analysis(decision_kinds=SPEC),
        id="toy-battle",
    )
