"""The config of a league: players and rules, game and budget. The first event of the log stores it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from ludory.algorithms.config import LEAGUE_GAMES, smaller_batches
from ludory.algorithms.league.log.events import FILE, LeagueEvent
from ludory.algorithms.league.matchmaking.options import ROLES, Matchmaking, SnapshotRules, default_unit
from ludory.errors import DataError, OptionError
from ludory.limits import NonNegativeFloat, NonNegativeInt, OneOf, PositiveInt, check_limits
from ludory.plugins import algorithms

STEPS_PER_MINUTE = 1_500_000
"""Agent steps per minute of the budget, for the default unit: two cores, a network of 128-128."""
SHORT = 50_000
"""Agent steps below which a league takes turns in small slices; the smallest default unit."""
TEACHER, START = "teacher.ludory", "start.ludory"
"""Copies of the supervised policy and of the learners' initial weights in the league's folder."""


@dataclass(frozen=True, slots=True)
class LeagueRules:
    """Players and rules of a league, whatever it plays and for how long."""

    teacher: str | None = None
    """Checkpoint of the supervised policy: initial weights, weights after a reset, and what learners stay close to; None: there is none."""
    init_from: str | None = None
    """Checkpoint of other initial weights, such as a fine-tuned policy; after a reset it is the teacher, where there is one."""
    roles: tuple[int, int, int] = (1, 1, 2)
    """Numbers of mains, main exploiters and league exploiters."""
    matchmaking: Matchmaking = field(default_factory=Matchmaking)
    """Shares and thresholds of who plays whom."""
    snapshots: SnapshotRules = field(default_factory=SnapshotRules)
    """When players are copied; its `rules` are also those of matchmaking."""
    decay: float = 0.99
    """Decay of the payoff table for each game of a pair."""
    min_games_pfsp: NonNegativeFloat = 8.0
    """Decayed games below which matchmaking assumes a win rate of one half."""
    source: Annotated[str, OneOf("training", "evaluator", "both")] = "both"
    """Games in the payoff table: "training", "evaluator" or "both"."""
    unit: NonNegativeInt = 0
    """Agent steps in place of the paper's 2e9; 0: a 64th of the budget, at least 50,000."""
    slice_steps: NonNegativeInt = 0
    """Agent steps of a player's turn; 0: an eighth of the unit."""
    main_turns: PositiveInt = 1
    """Turns of a main for one turn of an exploiter; more make the main stronger if the budget is small."""
    learner: str = "vtrace"
    """Algorithm of all learners; `league/learner.py` says what it must be able to do."""
    learner_options: Mapping[str, Any] = field(default_factory=dict)
    """Its options."""
    exploiter_kl: NonNegativeFloat | None = 0.0
    """Weight of exploiters' KL to the teacher, in place of the learner's own; None: the same as a main's.

    An exploiter that has to stay close to the teacher cannot find what beats a main that has left it."""
    exploiters_from: Annotated[str, OneOf("teacher", "main")] = "teacher"
    """Weights of an exploiter after each of its copies: "teacher", or "main", the newest copy of a main."""
    games_per_match: PositiveInt = 64
    """Games against one opponent before the next is drawn."""
    anchors: tuple[str, ...] = ()
    """Agents that every frozen player is measured against, such as scripted styles."""
    evaluation_games: int = 100
    """Games of one evaluation of a pair, half of them with seats exchanged; even."""
    evaluation_every: PositiveInt = 1
    """Copies between two evaluations of the frozen players; more copies mean larger batches. All are evaluated at the end."""
    seed: int = 0
    """Seed of all draws."""

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            OptionError: naming the field, the value and what is allowed.
        """
        if len(self.roles) != 3 or min(self.roles) < 0 or self.roles[0] < 1:
            raise OptionError(
                f"roles={self.roles}: must be numbers of mains (1 or more), main exploiters and league exploiters"
            )
        check_limits(self)
        if not 0 < self.decay <= 1:
            raise OptionError(f"decay={self.decay}: must be above 0 and at most 1")
        if self.evaluation_games < 2 or self.evaluation_games % 2:
            raise OptionError(f"evaluation_games={self.evaluation_games}: must be even, at least 2")


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
                "teacher: name the checkpoint of a supervised policy, or in init_from that of the initial weights"
            )

    @property
    def first_weights(self) -> str:
        """Checkpoint of the network of all learners: the teacher, or the initial weights."""
        file = self.teacher or self.init_from
        assert file is not None
        return file

    def shortened(self, longest_game: int) -> dict[str, Any]:
        """Changes with which a short budget is several turns of every learner, in which games and matches end.

        With its own settings such a league would be one or two turns of the first learner, in which no game ends. There are no changes
        for a longer budget, or where unit or slices are chosen.

        Args:
            longest_game: decisions of a seat in the longest game.
        """
        steps = self.total_steps
        if steps >= SHORT or self.unit or self.slice_steps:
            return {}
        kind: Any = algorithms.load(self.learner)
        chosen = dict(self.learner_options)
        # Two whole games of every learner, where the budget allows it; fewer than 8 at once would be slow.
        games = max(8, min(LEAGUE_GAMES, steps // (2 * longest_game * sum(self.roles))))
        learner = kind.config_class(**{"num_envs": LEAGUE_GAMES, **chosen})
        batches = smaller_batches(learner, min(steps // 2, 8 * games * getattr(learner, "n_steps", 0)))
        options = {"num_envs": games, **batches, **chosen}
        return {
            "unit": max(1, steps // 2),
            "slice_steps": max(1, steps // 16),
            "games_per_match": min(self.games_per_match, max(2, options["num_envs"] // 8)),
            "learner_options": options,
        }

    @property
    def total_steps(self) -> int:
        """The budget in agent steps; of a budget in minutes an estimate."""
        return self.budget_steps or int(self.minutes * STEPS_PER_MINUTE)

    def planned_steps(self, role: str) -> int:
        """Agent steps of one learner of a role in the whole league; of a budget in minutes an estimate."""
        turns = {name: self.main_turns if name == "main" else 1 for name in ROLES}
        all_turns = sum(count * turns[name] for name, count in zip(ROLES, self.roles, strict=True))
        return self.total_steps * turns[role] // all_turns

    @property
    def unit_steps(self) -> int:
        """`unit`, or its default."""
        return self.unit or default_unit(self.total_steps)

    @property
    def steps_of_slice(self) -> int:
        """`slice_steps`, or its default."""
        return self.slice_steps or max(1, self.unit_steps // 8)

    def to_json(self) -> dict[str, Any]:
        """The config as JSON; `from_json` reads it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> LeagueConfig:
        """The config that `to_json` described."""
        # In leagues of earlier versions exploiters had the mains' weight.
        return cls(**rules_from_json({"exploiter_kl": None, **content}))


def rules_from_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `LeagueRules` or `LeagueConfig` from JSON."""
    parts = {name: tuple(content[name]) for name in ("roles", "anchors")}
    rules = {
        "matchmaking": Matchmaking(**content["matchmaking"]),
        "snapshots": SnapshotRules(**content["snapshots"]),
    }
    return {**content, **parts, **rules}


def recorded_config(events: Sequence[LeagueEvent], folder: Path) -> LeagueConfig:
    """The config in the first of the standing events of `folder`'s log, with the latest budget.

    Raises:
        DataError: the log does not begin with a config.
    """
    # a league that was continued has a later budget than the one it began with
    budgets = [event.body["budget"] for event in events if event.type == "resumed" and event.body.get("budget")]
    try:
        config = LeagueConfig.from_json(events[0].body["config"] | (budgets[-1] if budgets else {}))
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{folder / FILE}, line 1: not the config of a league ({error!r}); put the old file back"
        ) from error
    return with_copies(config, folder)


def with_copies(config: LeagueConfig, folder: Path) -> LeagueConfig:
    """`config` with the copies of teacher and initial weights that lie in `folder`."""
    teacher = str(folder / TEACHER) if config.teacher else None
    start = str(folder / START) if config.init_from else None
    return dataclasses.replace(config, teacher=teacher, init_from=start)
