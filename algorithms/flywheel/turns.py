"""What flywheels share: turns of the same steps, a state on disk after each step, and one process per folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from typing_extensions import Self

from ludory.algorithms import FolderLock, train_to_file
from ludory.atomic import atomic_file
from ludory.cluster import Workers
from ludory.errors import DataError, OptionError, OutputError
from ludory.paths import path_inside
from ludory.plugins import parse_spec
from ludory.reading import check_finite, check_plain, read_json, shown
from ludory.visible import visible

FORMAT = 1
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows progress: takes a step's name and its number of parts; returns a context whose value is called with the number of parts done."""


class FinishedTurn(Protocol):
    """What flywheels know of a finished turn."""

    @property
    def policy(self) -> str:
        """What it learnt, a file relative to the flywheel's folder."""

    @property
    def ahead(self) -> float:
        """How far that is ahead of the blueprint."""

    @property
    def stderr(self) -> float:
        """Standard error of `ahead`."""

    @property
    def lower(self) -> float:
        """`ahead` is above this with the confidence of the config."""

    @property
    def promoted(self) -> bool:
        """Whether what it learnt is the next blueprint."""

    def summary(self) -> str:
        """One line for people."""


@dataclass(frozen=True, slots=True)
class TurnsState:
    """How far a flywheel is; `blueprint` is the best player so far: an agent by name, or a file relative to the flywheel's folder."""

    file: ClassVar[str]
    """Name of the state's file in the folder."""
    steps: ClassVar[tuple[str, ...]]
    """Steps of a turn, in order."""
    command: ClassVar[str]
    """Command that runs the flywheel, such as `ludory flywheel`."""
    config_class: ClassVar[type[Any]]
    turn_class: ClassVar[type[Any]]

    config: Any
    """A frozen dataclass with `turns`, how many there are in all, and `confidence`."""
    blueprint: str
    turn: int = 0
    step: str = ""
    """What comes next; "": the first one."""
    history: tuple[FinishedTurn, ...] = ()
    """Finished turns."""

    def __post_init__(self) -> None:
        """Fill in the first step.

        Raises:
            OptionError: the history is not that of the turns before this one.
        """
        if not self.step:
            object.__setattr__(self, "step", self.steps[0])
        if self.turn != len(self.history):
            raise OptionError(f"turn={self.turn!r}: {len(self.history)} turns stand in the history")

    def task(self, folder: Path) -> str:
        """What the next step of an unfinished flywheel does."""
        raise NotImplementedError

    def plan(self, folder: Path) -> str:
        """The next step in words."""
        if self.finished:
            return f"all {self.config.turns} turns are over"
        return f"turn {self.turn + 1} of {self.config.turns}, {self.step}: {visible(self.task(folder))}"

    def turn_file(self, folder: Path, name: str) -> Path:
        """A file of the current turn."""
        return folder / f"turn-{self.turn:03d}" / name

    @property
    def finished(self) -> bool:
        """Whether all turns are over."""
        return bool(self.turn >= self.config.turns)

    def after_step(self) -> Self:
        """The state before the next step of this turn."""
        return dataclasses.replace(self, step=self.steps[self.steps.index(self.step) + 1])

    def after_turn(self, turn: FinishedTurn) -> Self:
        """The state before the next turn."""
        blueprint = turn.policy if turn.promoted else self.blueprint
        return type(self)(self.config, blueprint, self.turn + 1, self.steps[0], (*self.history, turn))

    def write(self, folder: Path) -> None:
        """Write the state, atomically."""
        with atomic_file(folder / self.file, "w") as handle:
            json.dump({"format": FORMAT, **dataclasses.asdict(self)}, handle, indent=1)
            handle.write("\n")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The state of the flywheel in `folder`.

        Raises:
            DataError: there is none, its file is damaged, or names a file outside the folder.
        """
        file = folder / cls.file
        try:
            found = read_json(file)
            if found.pop("format") != FORMAT or found["step"] not in cls.steps:
                raise DataError(f"{file}: written by another version of ludory; this one reads format {FORMAT}")
            history = tuple(cls.turn_class(**turn) for turn in found.pop("history"))
            for turn in history:
                check_plain(turn)
            check_finite(found["config"], "config")
            if type(found["turn"]) is not int or type(found["blueprint"]) is not str:
                raise TypeError(f"turn {shown(found['turn'])}, blueprint {shown(found['blueprint'])}")
            state = cls(**found | {"config": cls.config_class(**found["config"]), "history": history})
            blueprint = parse_spec(state.blueprint)
            named = [turn.policy for turn in history] + ([blueprint.name] if blueprint.checkpoint else [])
            for name in named:
                path_inside(folder, name, file)
            return state
        except FileNotFoundError as error:
            raise DataError(
                f"{folder}: there is no {cls.file} here; `{cls.command} run --out {folder} ...` begins one"
            ) from error
        except DataError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{file}: damaged ({error}); put a copy of it back") from error


State = TypeVar("State", bound=TurnsState)


class Turns(Generic[State]):
    """A running flywheel; a context manager that holds the lock of its folder.

    Subclasses have a method `_STEP` for each step of the state. It returns the next state, or None if it was interrupted. A step finds what
    it has done before, so every step can be stopped or killed at any time and continued later.

    Raises:
        OutputError: another process runs it.
    """

    state_class: ClassVar[type[TurnsState]]
    searches_elsewhere: ClassVar[bool] = False
    """Whether `workers` can play the searched games."""
    workers: Workers | None = None
    """Who plays them; None: this process. The result is the same."""

    def __init__(self, folder: Path, state: State) -> None:
        self.folder, self.state = folder, state
        self._stopped = False
        self._bar: Bar | None = None
        self._lock = FolderLock(folder, "flywheel")
        if (folder / state.file).exists():
            self.state = state.read(folder)  # as whoever held the lock before left it

    @classmethod
    def begin(cls, folder: Path, state: State) -> Self:
        """A new flywheel, with its state on disk.

        Raises:
            OutputError: the folder holds one already, or cannot be written to.
        """
        check_free(folder, state)
        flywheel = cls(folder, state)
        flywheel.state.write(folder)
        return flywheel

    @classmethod
    def resume(cls, folder: str | Path, turns: int | None = None) -> Self:
        """The flywheel of a folder, where it stopped; `turns` replaces the number of turns in all.

        Raises:
            DataError: there is none, or its state is damaged.
            OptionError: fewer turns than are over.
        """
        target = Path(folder).resolve()
        state: Any = cls.state_class.read(target)
        flywheel = cls(target, state)
        if turns is not None:
            over = flywheel.state.turn
            if turns < max(over, 1):
                flywheel.release()
                raise OptionError(f"turns={turns}: {over} are over; must be at least that")
            config = dataclasses.replace(flywheel.state.config, turns=turns)
            flywheel.state = dataclasses.replace(flywheel.state, config=config)
            flywheel.state.write(target)
        return flywheel

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others run the flywheel of this folder."""
        self._lock.release()

    def stop(self) -> None:
        """Let `run` end soon, with nothing lost."""
        self._stopped = True

    def run(self, once: bool = False, on_step: Callable[[Self], None] | None = None, bar: Bar | None = None) -> bool:
        """Run to the end; returns whether no step was interrupted.

        Args:
            once: run one step only.
            on_step: called after each step.
            bar: shows progress, including parts of an earlier run; None: nothing is shown.
        """
        self._bar = bar
        while not self.state.finished and not self._stopped:
            after = getattr(self, f"_{self.state.step}")()
            if after is None:
                return False
            self.state = after
            self.state.write(self.folder)
            if on_step:
                on_step(self)
            if once:
                return True
        return not self._stopped

    def _shown(self, parts: int) -> AbstractContextManager[Callable[[int], None]]:
        """Progress of the current step."""
        return self._bar(self.state.step, parts) if self._bar else nullcontext(lambda count: None)

    def _file(self, name: str) -> Path:
        return self.state.turn_file(self.folder, name)

    def _trained(self, model: Any, file: Path) -> State | None:
        """Train `model` to its end in `file`, with checkpoints by the clock."""
        shown = self._bar is not None
        if not model.finished and train_to_file(model, model.planned_timesteps, file, progress_bar=shown):
            self.stop()
        return self.state.after_step() if model.finished else None

    def _lower(self, ahead: float, stderr: float) -> float:
        """The one-sided bound that a mean `ahead` exceeds with the confidence of the config."""
        return ahead - NormalDist().inv_cdf(self.state.config.confidence) * stderr


def verdict(turn: FinishedTurn, units: str) -> str:
    """How far the new player of a finished turn is ahead over so many `units`, and whether it was promoted."""
    promoted = "promoted" if turn.promoted else "not promoted"
    return f"{turn.ahead:+.3f} ± {turn.stderr:.3f} over {units}, above {turn.lower:+.3f}: {promoted}"


def check_free(folder: Path, state: TurnsState) -> None:
    """Refuse a folder that holds a flywheel.

    Raises:
        OutputError: saying how to go on with it.
    """
    if (folder / state.file).exists():
        raise OutputError(
            f"{folder}: holds a flywheel; `{state.command} resume {folder}` goes on with it, also with more --turns, or name another --out"
        )
