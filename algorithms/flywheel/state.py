"""How far a flywheel is: one JSON file, written whole after every step."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ludory.atomic import atomic_file
from ludory.errors import DataError, OptionError

from .config import FlywheelConfig

STATE = "flywheel.json"
FORMAT = 1
Step = Literal["search", "distil", "evaluate", "promote"]
STEPS: tuple[Step, ...] = ("search", "distil", "evaluate", "promote")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that is over."""

    number: int
    blueprint: str
    """Whom it searched from."""
    policy: str
    """What it learnt, a file relative to the flywheel's folder."""
    games: int
    """On which both were compared."""
    policy_score: float
    blueprint_score: float
    ahead: float
    """Mean of the differences deck by deck."""
    stderr: float
    lower: float
    """The difference is above this with the confidence of the config."""
    promoted: bool


@dataclass(frozen=True, slots=True)
class FlywheelState:
    """What is done; `blueprint` is the best player so far: an agent by name, or a file relative to the flywheel's folder."""

    config: FlywheelConfig
    blueprint: str
    turn: int = 0
    step: Step = "search"
    """What comes next."""
    history: tuple[Turn, ...] = field(default=())

    @property
    def finished(self) -> bool:
        """Whether all turns are over."""
        return self.turn >= self.config.turns

    def after_step(self) -> FlywheelState:
        """With the next step of this turn to come."""
        return dataclasses.replace(self, step=STEPS[STEPS.index(self.step) + 1])

    def after_turn(self, turn: Turn) -> FlywheelState:
        """With the next turn to come."""
        blueprint = turn.policy if turn.promoted else self.blueprint
        return FlywheelState(self.config, blueprint, self.turn + 1, "search", (*self.history, turn))


def write_state(folder: Path, state: FlywheelState) -> None:
    """Write it, atomically."""
    with atomic_file(folder / STATE, "w") as handle:
        json.dump({"format": FORMAT, **_plain(state)}, handle, indent=1)
        handle.write("\n")


def _plain(state: FlywheelState) -> dict[str, Any]:
    return dataclasses.asdict(state) | {"config": state.config.to_json()}


def read_state(folder: Path) -> FlywheelState:
    """The state of the flywheel in `folder`.

    Raises:
        DataError: there is none, or its file is damaged.
    """
    file = folder / STATE
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT or found["step"] not in STEPS:
            raise DataError(f"{file}: written by another version of ludory; this one reads format {FORMAT}")
        history = tuple(Turn(**turn) for turn in found.pop("history"))
        return FlywheelState(**found | {"config": FlywheelConfig(**found["config"]), "history": history})
    except FileNotFoundError as error:
        raise DataError(
            f"{folder}: there is no {STATE} here; `ludory flywheel run --out {folder} ...` begins one"
        ) from error
    except (json.JSONDecodeError, KeyError, TypeError, OptionError) as error:
        raise DataError(f"{file}: damaged ({error}); put a copy of it back") from error
