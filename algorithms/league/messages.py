"""What the roles of a league say to each other: frozen values, so that roles can be placed on other machines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assignment:
    """Coordinator to sampler: play `games` games, `home` (who learns) against `away` in all other seats."""

    match: int
    home: str
    away: str
    games: int
    game_seed: int
    """Decides which seat `home` takes in each game."""
    branch: str
    """The rule of matchmaking that drew `away`."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Sampler to coordinator: how the games of an assignment went, in the order in which they ended."""

    match: int
    outcomes: str
    """One letter a game, for `home`: "w", "d" or "l"."""
    length: int
    """Rounds of all games together."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Learner to coordinator, at the end of a slice."""

    player: str
    env_steps: int
    """Decisions of the learner since the league began, resets included."""
    updates: int
    """Iterations of the algorithm, resets included."""
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class SnapshotOrder:
    """Coordinator to learner: write your weights as the frozen player `id`."""

    player: str
    id: str
    reason: str
    reset: bool
    """Whether the learner starts anew afterwards; drawn once, logged with the copy."""


@dataclass(frozen=True, slots=True)
class ResetOrder:
    """Coordinator to learner: go back to the supervised weights, with a fresh optimiser."""

    player: str


@dataclass(frozen=True, slots=True)
class EvaluationOrder:
    """Coordinator to evaluator: fixed players `i` and `j` play block number `block` of their common games."""

    i: str
    j: str
    block: int
    games: int


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Evaluator to coordinator, for player `i`."""

    i: str
    j: str
    block: int
    wins: int
    draws: int
    losses: int
    length: int
