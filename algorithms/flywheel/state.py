"""How far a flywheel is: one JSON file, written whole after every step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ludory.errors import DataError
from ludory.reading import read_json, shown

from .config import FlywheelConfig
from .turns import TurnsState

STATE = "flywheel.json"
MOST_SCORE = 1e9


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


class FlywheelState(TurnsState):
    """Of a flywheel that searches."""

    __slots__ = ()
    file: ClassVar[str] = STATE
    steps: ClassVar[tuple[str, ...]] = ("search", "distil", "evaluate", "promote")
    command: ClassVar[str] = "ludory flywheel"
    config_class: ClassVar[type[Any]] = FlywheelConfig
    turn_class: ClassVar[type[Any]] = Turn

    config: FlywheelConfig
    history: tuple[Turn, ...]


def read_state(folder: Path) -> FlywheelState:
    """The state of the flywheel in `folder`.

    Raises:
        DataError: there is none, its file is damaged, or names a file outside the folder.
    """
    return FlywheelState.read(folder)


def read_scores(file: Path) -> dict[str, list[float]]:
    """Scores of policy and blueprint on the same decks, those that were played so far.

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
