"""How far a flywheel is: one JSON file, written whole after every step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ludory.errors import DataError
from ludory.plugins import parse_spec
from ludory.reading import read_json, shown
from ludory.visible import visible

from .config import BLUEPRINT, FlywheelConfig
from .turns import TurnsState, verdict

STATE = "flywheel.json"
SEARCHED, POLICY, SCORES = "searched", "policy.ludory", "scores.json"
"""Recording, network and comparison of a turn."""
FIRST = "blueprint.ludory"
"""Copy of the checkpoint that a flywheel began with, in its folder."""
MOST_SCORE = 1e9


@dataclass(frozen=True, slots=True)
class Turn:
    """A finished turn."""

    number: int
    blueprint: str
    """The player that it searched from."""
    policy: str
    """What it learnt, a file relative to the flywheel's folder."""
    games: int
    """Games on which both were compared."""
    policy_score: float
    blueprint_score: float
    ahead: float
    """Mean of the differences deck by deck."""
    stderr: float
    lower: float
    """The difference is above this with the confidence of the config."""
    promoted: bool

    def summary(self) -> str:
        """One line for people."""
        policy, blueprint = visible(self.policy), visible(self.blueprint)
        scores = f"{policy} {self.policy_score:.2f}, {blueprint} {self.blueprint_score:.2f}"
        return f"turn {self.number + 1}: {scores}; {verdict(self, f'{self.games:,} decks')}"


class FlywheelState(TurnsState):
    """The state of a flywheel that searches."""

    __slots__ = ()
    file: ClassVar[str] = STATE
    steps: ClassVar[tuple[str, ...]] = ("search", "distil", "evaluate", "promote")
    command: ClassVar[str] = "ludory flywheel"
    config_class: ClassVar[type[Any]] = FlywheelConfig
    turn_class: ClassVar[type[Any]] = Turn

    config: FlywheelConfig
    history: tuple[Turn, ...]

    def blueprint_in(self, folder: Path) -> str:
        """The blueprint as `make_agent` takes it."""
        name = parse_spec(self.blueprint).name
        return self.blueprint.replace(name, str(folder / name), 1) if (folder / name).is_file() else self.blueprint

    def searcher_in(self, folder: Path) -> str:
        """The searching agent as `make_agent` takes it."""
        return self.config.search.replace(BLUEPRINT, self.blueprint_in(folder))

    def task(self, folder: Path) -> str:
        """What the next step does."""
        config, searched, policy = self.config, self.turn_file(folder, SEARCHED), self.turn_file(folder, POLICY)
        return {
            "search": f"{config.games:,} games of {self.searcher_in(folder)} on {config.env}, to {searched}",
            "distil": f"{config.learner} learns from {searched}, to {policy}",
            "evaluate": f"{config.eval_games:,} decks with {policy} and with {self.blueprint}",
            "promote": f"{policy} takes the place of {self.blueprint} if it is better with confidence {config.confidence:g}",
        }[self.step]


def read_scores(file: Path) -> dict[str, list[float]]:
    """Scores of policy and blueprint on the decks played so far, which are the same for both.

    Raises:
        DataError: the file is damaged.
    """
    try:
        scores = read_json(file)
        both = [scores[name] for name in ("policy", "blueprint")]
        wrong = [one for part in both for one in part if type(one) not in (int, float) or not abs(one) <= MOST_SCORE]
        if wrong or len(both[0]) != len(both[1]):
            raise ValueError(f"holds {shown(wrong[0])}" if wrong else f"{len(both[0])} and {len(both[1])} scores")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: damaged ({error}); delete it, then the decks are played again") from error
    return {name: list(scores[name]) for name in ("policy", "blueprint")}
