"""Options of a flywheel."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from ludory.errors import OptionError
from ludory.limits import Below, Whole, check_limits
from ludory.plugins import algorithms

Confidence: TypeAlias = Annotated[float, Below(0.5, 1, ", such as 0.975")]
"""One-sided, of a comparison."""
BLUEPRINT = "{blueprint}"
"""Placeholder in `search` for the player to search from."""


@dataclass(frozen=True, slots=True)
class FlywheelOptions:
    """Any search whose name holds a blueprint, and any learner from recorded games.

    Raises:
        OptionError: naming the field, the value and what is allowed.
    """

    blueprint: str = ""
    """Agent to begin with: a rule bot or a checkpoint."""
    search: str = f"sparta({BLUEPRINT}, rollouts=1000)"
    """Agent that searches; {blueprint} stands for the player that it searches from."""
    learner: str = "distill"
    """Algorithm that learns from recorded games."""
    learner_options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its config."""
    games: Annotated[int, Whole(1)] = 1000
    """Searched games per turn."""
    eval_games: Annotated[int, Whole(2)] = 2000
    """Decks on which the new player and the blueprint are compared, new ones every turn."""
    confidence: Confidence = 0.975
    """A player takes the blueprint's place if it is better with this confidence (one-sided, paired by deck)."""
    turns: Annotated[int, Whole(1)] = 10
    """Number of turns."""
    seed: Annotated[int, Whole(0)] = 0
    """Seed of everything."""

    def __post_init__(self) -> None:
        if self.search.count(BLUEPRINT) != 1:
            raise OptionError(
                f"search={self.search!r}: must hold {BLUEPRINT} once, such as 'sparta({BLUEPRINT}, rollouts=1000)'"
            )
        check_limits(self)
        for name in ("dataset", "seed"):
            if name in self.learner_options:
                raise OptionError(f"learner option {name!r}: the flywheel itself sets it; leave it out")
        if "dataset" not in {one.name for one in dataclasses.fields(algorithms.options(self.learner))}:
            raise OptionError(f"learner={self.learner!r}: must learn from recorded games, such as distill or bc")


@dataclass(frozen=True, slots=True)
class FlywheelConfig(FlywheelOptions):
    """A flywheel and its game."""

    env: str = ""
    """Id of a game."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the game."""
    policy: str = "auto"
    """Network of the learner, until a checkpoint is the blueprint."""

    def __post_init__(self) -> None:
        FlywheelOptions.__post_init__(self)
        for name, example in (("env", "Hanabi2P-v0"), ("blueprint", "hanabi/smartbot")):
            if not getattr(self, name):
                raise OptionError(f"{name}: is missing; name one, such as {example}")

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values."""
        return dataclasses.asdict(self)
