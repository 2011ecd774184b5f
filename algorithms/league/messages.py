"""Messages between the roles of a league: frozen values, so that roles can be placed on other machines."""

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
    """Sampler to coordinator: the results of an assignment's games, in the order in which they ended."""

    match: int
    outcomes: str
    """One letter a game, for `home`: "w", "d" or "l"."""
    length: int
    """Rounds of all games together."""


@dataclass(frozen=True, slots=True)
class SliceResult:
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
    """Whether the learner then returns to its initial weights, with a new optimiser; drawn once, logged with the copy."""


@dataclass(frozen=True, slots=True)
class EvaluationOrder:
    """Coordinator to evaluator: `i` and `j` play block number `block` of their common games."""

    i: str
    j: str
    block: int
    games: int


@dataclass(frozen=True, slots=True)
class PairResult:
    """Evaluator to coordinator: the games of an order, for player `i`."""

    i: str
    j: str
    block: int
    wins: int
    draws: int
    losses: int
    length: int
    """Rounds of all games together."""
    outcomes: str
    """"w", "d" or "l" a game; game k and its mirror k + games/2 have one start."""

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Wins and half the draws."""
        return self.wins + self.draws / 2
