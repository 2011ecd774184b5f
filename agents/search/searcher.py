"""`Searcher`: base of agents that search from a blueprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ludory.agents.agent import Agent
from ludory.agents.draws import Keys
from ludory.agents.seat import SeatAgent
from ludory.envs import Memory, hash_rows

from .blueprint import Blueprint
from .rollouts import RolloutSearch, SearchDecision


class Searcher(SeatAgent):
    """Base of agents that search from a blueprint, whose results can be recorded.

    Its notes of a game have `decisions`, the search before each of its own moves that was not forced; `contradictions`, the number of
    moves by others that the blueprint would not have made; and `key`, a number that its draws depend on.
    """

    blueprint: Blueprint
    search: RolloutSearch
    blueprint_spec: str | None = None
    """The blueprint's spec, such as an id or a checkpoint's path, if it was given by name."""
    alone: bool = True
    """Whether only one seat of a game may search."""

    @property
    def partner(self) -> Agent:
        """The agent assumed in the other seats."""
        return self.blueprint.agent

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the search apart from its seed, as plain values."""
        found = self.search
        return {
            "blueprint": self.blueprint_spec or self.partner.name,
            "rollouts": found.rollouts,
            "threshold": found.threshold,
            "errors": found.errors,
            "seconds": found.seconds,
        } | ({"halving": True} if found.halving else {})

    def seed(self, seed: int) -> None:
        """Restart the draws from `seed`."""
        self._seed = int(seed)

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """As `Agent.start_games`. All seats share one key, which changes with every move, so that joint searches agree."""
        memory = self.initial_memory(len(keys))
        for note, key in zip(memory, keys, strict=True):
            note.own.key = int(hash_rows(note.own.key, key))
        return memory

    def decisions(self, memory: Memory, row: int) -> Sequence[SearchDecision]:
        """The searches so far in the game `row` of this seat's memory, in order."""
        found: list[SearchDecision] = memory[row].own.decisions
        return found

    def contradictions(self, memory: Memory, row: int) -> int:
        """Number of moves by others in the game `row` that the blueprint would have made in no possible world."""
        found: int = memory[row].own.contradictions
        return found
