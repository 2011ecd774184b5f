"""`TunedSettings`: what an algorithm learns a game well with, and the score that it reached so.

An entry of `ALGORITHM.json` has the fields of `TunedSettings`. `ludory bench tuned` trains with them and measures the
entries again.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ludory.envs.game import Game
from ludory.errors import DataError
from ludory.reading import parse_json


class TrainingStage(NamedTuple):
    """A part of a training, which starts from the weights of the part before it.

    Args:
        name: in file names.
        share: of the timesteps.
        options: of the game, beside those of all stages.
        settings: fields of the config, beside those of all stages.
    """

    name: str
    share: float
    options: Mapping[str, Any]
    settings: Mapping[str, Any]


class MeasuredScore(NamedTuple):
    """What a training with these settings reached: means over seeds, with the standard error over seeds (over games for one seed).

    Args:
        mean: of the agent's return.
        stderr: its standard error.
        baseline: mean return of the baseline.
        baseline_stderr: its standard error.
        games: played for each seed.
        seeds: of the trainings.
        cpu_minutes: of one core, for one training.
        machine: on which it was measured.
        commit: of the code; None: unknown.
    """

    mean: float
    stderr: float
    baseline: float
    baseline_stderr: float
    games: int
    seeds: tuple[int, ...]
    cpu_minutes: float
    machine: str
    commit: str | None = None

    def says(self, baseline: str) -> str:
        """The score beside that of the agent `baseline`, in a line."""
        seeds = f"{len(self.seeds)} seed{'s' if len(self.seeds) > 1 else ''}"
        minutes = self.cpu_minutes
        spent = f"{minutes:.1f} CPU-minutes" if minutes >= 1 else f"{60 * minutes:.1f} CPU-seconds"
        return (
            f"{self.mean:.2f} ± {self.stderr:.2f} after {spent} ({seeds}, {self.games} games each); "
            f"{baseline} reaches {self.baseline:.2f} ± {self.baseline_stderr:.2f}"
        )


@dataclass(frozen=True, slots=True)
class TunedSettings:
    """Settings of one algorithm for one game."""

    game: str
    """Id of the game."""
    baseline: str
    """Agent that the score is compared with."""
    timesteps: int
    """Of all stages together."""
    cpu_minutes: float
    """Within which one core must be done."""
    settings: Mapping[str, Any]
    """Fields of the config, in all stages."""
    policy: str = "auto"
    """The network."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game, such as its observation."""
    stages: tuple[TrainingStage, ...] = ()
    """In their order; empty: one stage, the whole."""
    sweep: str = ""
    """The command that found the settings; empty: chosen by hand."""
    reached: MeasuredScore | None = None
    """None: not measured yet."""

    @property
    def parts(self) -> tuple[TrainingStage, ...]:
        """The stages; of a training without stages, the whole as one."""
        return self.stages or (TrainingStage("whole", 1.0, {}, {}),)

    def says(self) -> str:
        """The settings in a line."""
        return ", ".join(f"{name}={value!r}" for name, value in {**self.options, **self.settings}.items())


@cache
def tuned_games(algorithm: str) -> Mapping[str, TunedSettings]:
    """The tuned settings of an algorithm, such as "ppo", by the id of the game; empty where it has none.

    Raises:
        DataError: its file has an entry that is not one.
    """
    file = files(__package__) / f"{algorithm}.json"
    return read_tuned(file.read_text(encoding="utf-8"), file.name) if file.is_file() else {}


def tuned_algorithms() -> list[str]:
    """Names of the algorithms with tuned settings."""
    return sorted(file.name[:-5] for file in files(__package__).iterdir() if file.name.endswith(".json"))


def tuned_for(algorithm: str, game: str | Game) -> TunedSettings | None:
    """The tuned settings of an algorithm (`ppo` or `ppo-v1`) for a game, None if there are none."""
    id = game.id if isinstance(game, Game) else game
    return tuned_games(algorithm.partition("-v")[0]).get(id or "")


def read_tuned(text: str | bytes, name: str) -> dict[str, TunedSettings]:
    """The entries of a file of tuned settings, by game.

    Args:
        text: its content, JSON.
        name: of the file, for errors.

    Raises:
        DataError: it is not JSON, or a field of an entry is missing or unknown.
    """
    try:
        return {game: _entry(game, dict(entry)) for game, entry in parse_json(text, finite=True).items()}
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise DataError(
            f"{name}: not a file of tuned settings ({error}); its entries have the fields of TunedSettings"
        ) from error


def _entry(game: str, entry: dict[str, Any]) -> TunedSettings:
    stages = tuple(TrainingStage(**{"options": {}, "settings": {}} | stage) for stage in entry.pop("stages", ()))
    reached = entry.pop("reached", None)
    if reached is not None:
        reached = MeasuredScore(**reached | {"seeds": tuple(reached["seeds"])})
    if "hidden" in entry["settings"]:
        entry["settings"]["hidden"] = tuple(entry["settings"]["hidden"])
    if stages and abs(sum(stage.share for stage in stages) - 1) > 1e-6:
        raise ValueError(f"{game}: the shares of the stages must add up to 1")
    return TunedSettings(game, **entry, stages=stages, reached=reached)


def tuned_json(entries: Mapping[str, TunedSettings]) -> str:
    """The content of a file of tuned settings."""
    return json.dumps({game: _as_json(entry) for game, entry in entries.items()}, indent=1) + "\n"


def _as_json(entry: TunedSettings) -> dict[str, Any]:
    """Without the game, which is the key, and without fields that say nothing."""
    found = dataclasses.asdict(entry)
    found["stages"] = [
        {name: value for name, value in stage._asdict().items() if value != {}} for stage in entry.stages
    ]
    found["reached"] = entry.reached and entry.reached._asdict()
    return {name: value for name, value in found.items() if name != "game" and value not in ({}, [], None, "auto", "")}
