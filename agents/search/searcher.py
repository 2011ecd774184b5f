"""`Searcher`: what is common to agents that search from a blueprint, so that what they found can be written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ludory.agents.agent import Agent
from ludory.agents.draws import Keys
from ludory.agents.seat import SeatAgent
from ludory.envs.chance import hash_rows
from ludory.envs.seats.player import Memory

from .blueprint import Blueprint
from .rollouts import RolloutSearch, SearchDecision


class Searcher(SeatAgent):
    """A `SeatAgent` that searches.

    Its notes of a game have `decisions`, what it found before each of its own moves, forced ones left out; `contradictions`, how often
    the others did what the blueprint would not have done; and `key`, a number that its draws depend on.
    """

    blueprint: Blueprint
    search: RolloutSearch
    blueprint_spec: str | None = None
    """The blueprint as it was asked for by name, a checkpoint's path for one."""
    alone: bool = True
    """Whether only one seat of a game may search like this."""

    @property
    def partner(self) -> Agent:
        """Who is assumed in the other seats."""
        return self.blueprint.agent

    @property
    def settings(self) -> dict[str, Any]:
        """What the search depends on, beside its seed; plain values."""
        found = self.search
        return {
            "blueprint": self.blueprint_spec or self.partner.name,
            "rollouts": found.rollouts,
            "threshold": found.threshold,
            "errors": found.errors,
            "seconds": found.seconds,
        }

    def start_games(self, seat: int, keys: Keys) -> Memory:
        """As `Agent.start_games`. All seats draw from one key, which changes with every move, so that joint searches agree."""
        memory = self.initial_memory(len(keys))
        for note, key in zip(memory, keys, strict=True):
            note.own.key = int(hash_rows(note.own.key, key))
        return memory

    def decisions(self, memory: Memory, row: int) -> Sequence[SearchDecision]:
        """All that was found so far in the game `row` of this seat's memory, in order."""
        found: list[SearchDecision] = memory[row].own.decisions
        return found

    def contradictions(self, memory: Memory, row: int) -> int:
        """How often in the game `row` the others did what the blueprint would not have done in any world held possible."""
        found: int = memory[row].own.contradictions
        return found
