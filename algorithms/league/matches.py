"""`OpenMatches`: the assignments of one sampler, from the first game's start to the last game's end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from ludory.envs.chance import hash_rows

from .messages import Assignment, MatchResult


@dataclass(slots=True)
class _Open:
    assignment: Assignment
    started: int = 0
    outcomes: str = ""
    length: int = 0


class OpenMatches:
    """Hands out games and collects how they end.

    Args:
        next_assignment: asks the coordinator for the next match.
        deliver: tells it of a finished one.
    """

    def __init__(self, next_assignment: Callable[[], Assignment], deliver: Callable[[MatchResult], None]) -> None:
        self._next_assignment, self._deliver = next_assignment, deliver
        self._open: dict[int, _Open] = {}
        self._current: int | None = None

    def start_game(self, seats: int) -> tuple[Assignment, int]:
        """The match that the next game belongs to, and the seat of its home player."""
        if self._current is None:
            assignment = self._next_assignment()
            self._current = assignment.match
            self._open[assignment.match] = _Open(assignment)
        match = self._open[self._current]
        seat = int(hash_rows(match.assignment.game_seed, match.started)) % seats
        match.started += 1
        if match.started == match.assignment.games:
            self._current = None
        return match.assignment, seat

    def end_game(self, match: int, outcome: str, length: int) -> None:
        """A game ended for its home player: "w", "d" or "l", after `length` rounds."""
        found = self._open[match]
        found.outcomes += outcome
        found.length += length
        if len(found.outcomes) == found.assignment.games:
            del self._open[match]
            self._deliver(MatchResult(match, found.outcomes, found.length))

    def away(self, match: int) -> str:
        """Who plays away in an open match."""
        return self._open[match].assignment.away

    def state(self) -> Tensor:
        """All of it, as the bytes of a JSON text."""
        text = json.dumps({"current": self._current, "open": [asdict(match) for match in self._open.values()]})
        return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)

    def restore(self, state: Tensor) -> None:
        """Restore what `state` returned."""
        known: dict[str, Any] = json.loads(bytes(state.tolist()))
        self._current, self._open = known["current"], {}
        for match in known["open"]:
            found = _Open(Assignment(**match.pop("assignment")), **match)
            self._open[found.assignment.match] = found
