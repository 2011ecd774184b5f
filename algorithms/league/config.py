"""What a league is: its players and rules, its game and its budget. Stored in the first event of the log."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ludory.algorithms.league.matchmaking.opponent_choice import Matchmaking
from ludory.algorithms.league.matchmaking.snapshots import SnapshotRules, default_unit
from ludory.errors import OptionError

STEPS_PER_MINUTE = 1_500_000
"""Agent steps that a budget in minutes is taken for where a number of steps is needed: two cores, a network of 128-128."""


@dataclass(frozen=True, slots=True)
class LeagueRules:
    """Players and rules of a league, whatever it plays and for how long; names and defaults as in the specification of the house."""

    teacher: str | None = None
    """Checkpoint of the supervised policy: where learners start, and start anew, and whom they stay close to; None: there is none."""
    init_from: str | None = None
    """Checkpoint that learners begin with instead, such as a fine-tuned policy; after a reset it is the teacher, where there is one."""
    roles: tuple[int, int, int] = (1, 1, 2)
    """Numbers of mains, main exploiters and league exploiters."""
    matchmaking: Matchmaking = field(default_factory=Matchmaking)
    """Shares and thresholds of who plays whom."""
    snapshots: SnapshotRules = field(default_factory=SnapshotRules)
    """When players are copied; its `rules` are also those of matchmaking."""
    decay: float = 0.99
    """Of the payoff table, for each game of a pair."""
    min_games_pfsp: float = 8.0
    """Decayed games below which matchmaking takes a pair for even."""
    source: str = "both"
    """Games that the payoff table counts: "training", "evaluator", or "both"."""
    unit: int = 0
    """Agent steps that stand for the paper's 2e9; 0: a 64th of the budget, at least 50,000."""
    slice_steps: int = 0
    """Agent steps of one player before the next one's turn; 0: an eighth of the unit."""
    main_turns: int = 1
    """Turns of a main for one turn of an exploiter; more make the main stronger where the budget is small."""
    learner: str = "vtrace"
    """Algorithm of all learners; see `league.learner` for what it must be able to do."""
    learner_options: Mapping[str, Any] = field(default_factory=dict)
    """Its options."""
    exploiter_kl: float | None = 0.0
    """Weight of exploiters' KL to the teacher, in place of the learner's own; None: the same as a main's.

    An exploiter that has to stay close to the teacher cannot find what beats a main that has left it."""
    exploiters_from: str = "teacher"
    """What an exploiter starts from after each of its copies: "teacher", or "main", the newest copy of a main."""
    games_per_match: int = 64
    """Games that are played against one opponent before the next is drawn."""
    anchors: tuple[str, ...] = ()
    """Agents that every frozen player is measured against, such as scripted styles."""
    evaluation_games: int = 100
    """Games of one evaluation of a pair, half of them with seats exchanged; even."""
    evaluation_every: int = 1
    """Copies between two rounds of evaluation of the frozen players; more make fewer, larger batches of games. All are measured at the end."""
    seed: int = 0
    """Of everything."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and what is allowed.
        """
        if len(self.roles) != 3 or min(self.roles) < 0 or self.roles[0] < 1:
            raise OptionError(
                f"roles={self.roles}: must be numbers of mains (1 or more), main exploiters and league exploiters"
            )
        if self.exploiter_kl is not None and not self.exploiter_kl >= 0:
            raise OptionError(f"exploiter_kl={self.exploiter_kl}: must be at least 0, or None for the mains' weight")
        if self.exploiters_from not in ("teacher", "main"):
            raise OptionError(f"exploiters_from={self.exploiters_from!r}: must be 'teacher' or 'main'")
        if self.source not in ("training", "evaluator", "both"):
            raise OptionError(f"source={self.source!r}: must be 'training', 'evaluator' or 'both'")
        if not 0 < self.decay <= 1:
            raise OptionError(f"decay={self.decay}: must be above 0 and at most 1")
        if self.evaluation_games < 2 or self.evaluation_games % 2:
            raise OptionError(f"evaluation_games={self.evaluation_games}: must be even, at least 2")
        for name in ("unit", "slice_steps", "min_games_pfsp"):
            if getattr(self, name) < 0:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 0")
        for name in ("games_per_match", "main_turns", "evaluation_every"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}: must be at least 1")


@dataclass(frozen=True, slots=True)
class LeagueConfig(LeagueRules):
    """A league: its rules, its game and its budget."""

    env: str = ""
    """Id of a zero-sum game."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game."""
    budget_steps: int = 0
    """Agent steps of all learners together; 0: `minutes` decide."""
    minutes: float = 0.0
    """Time of training; 0: `budget_steps` decide."""
    processor_time: bool = False
    """Count minutes of this process's processor time, which other work on the machine does not shorten."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and what is allowed.
        """
        LeagueRules.__post_init__(self)
        if not self.env:
            raise OptionError("env: name a zero-sum game, such as Arena2P-v0")
        if (self.budget_steps > 0) == (self.minutes > 0):
            raise OptionError(f"budget_steps={self.budget_steps}, minutes={self.minutes}: give one of them, above 0")
        if not (self.teacher or self.init_from):
            raise OptionError(
                "teacher: name the checkpoint of a supervised policy, or in init_from the one to begin with"
            )

    @property
    def first_weights(self) -> str:
        """Checkpoint of the network that all learners have: the teacher, or what learners begin with."""
        file = self.teacher or self.init_from
        assert file is not None
        return file

    @property
    def unit_steps(self) -> int:
        """`unit`, or its default."""
        return self.unit or default_unit(self.budget_steps or int(self.minutes * STEPS_PER_MINUTE))

    @property
    def steps_of_slice(self) -> int:
        """`slice_steps`, or its default."""
        return self.slice_steps or max(1, self.unit_steps // 8)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` takes."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> LeagueConfig:
        """The config that `to_json` described."""
        parts = {"exploiter_kl": None, **content}  # leagues of earlier versions: exploiters had the mains' weight
        for name in ("roles", "anchors"):
            parts[name] = tuple(parts[name])
        parts["matchmaking"] = Matchmaking(**parts["matchmaking"])
        parts["snapshots"] = SnapshotRules(**parts["snapshots"])
        return cls(**parts)
