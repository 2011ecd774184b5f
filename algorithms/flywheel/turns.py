"""What flywheels share: turns of the same steps, a state on disk after each step, and one process for a folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from typing_extensions import Self

from ludory.algorithms.running.folder_lock import FolderLock
from ludory.atomic import atomic_file
from ludory.errors import DataError, OptionError, OutputError
from ludory.paths import path_inside
from ludory.plugins.spec import parse_spec
from ludory.reading import check_finite, check_plain, read_json, shown

FORMAT = 1
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Shows progress: given a step's name and how many parts it has, a context in which to tell of parts that came to an end."""


@dataclass(frozen=True, slots=True)
class TurnsState:
    """What is done; `blueprint` is the best player so far: an agent by name, or a file relative to the flywheel's folder."""

    file: ClassVar[str]
    """Its name in the folder."""
    steps: ClassVar[tuple[str, ...]]
    """Of a turn, in order."""
    command: ClassVar[str]
    """That runs it: `ludory flywheel`."""
    config_class: ClassVar[type[Any]]
    turn_class: ClassVar[type[Any]]

    config: Any
    """A frozen dataclass with `turns`, how many there are in all, and `to_json`."""
    blueprint: str
    turn: int = 0
    step: str = ""
    """What comes next; "": the first one."""
    history: tuple[Any, ...] = ()
    """Turns that are over, each with `policy`, what it learnt (a file relative to the folder), and `promoted`."""

    def __post_init__(self) -> None:
        """Fill in the first step.

        Raises:
            OptionError: the history is not that of the turns before this one.
        """
        if not self.step:
            object.__setattr__(self, "step", self.steps[0])
        if self.turn != len(self.history):
            raise OptionError(f"turn={self.turn!r}: {len(self.history)} turns stand in the history")

    @property
    def finished(self) -> bool:
        """Whether all turns are over."""
        return bool(self.turn >= self.config.turns)

    def after_step(self) -> Self:
        """With the next step of this turn to come."""
        return dataclasses.replace(self, step=self.steps[self.steps.index(self.step) + 1])

    def after_turn(self, turn: Any) -> Self:
        """With the next turn to come."""
        blueprint = turn.policy if turn.promoted else self.blueprint
        return type(self)(self.config, blueprint, self.turn + 1, self.steps[0], (*self.history, turn))

    def write(self, folder: Path) -> None:
        """Write it, atomically."""
        plain = dataclasses.asdict(self) | {"config": self.config.to_json()}
        with atomic_file(folder / self.file, "w") as handle:
            json.dump({"format": FORMAT, **plain}, handle, indent=1)
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
    """A flywheel that runs; a context manager that holds the lock of its folder.

    Subclasses have a method `_STEP` for each step of the state: it gives the state after it, or None if it was broken off. What a step has
    done it finds again, so that every step can be stopped or killed at any time and is then gone on with.

    Raises:
        OutputError: another process runs it.
    """

    def __init__(self, folder: Path, state: State) -> None:
        self.folder, self.state = folder, state
        self._stopped = False
        self._bar: Bar | None = None
        self._lock = FolderLock(folder, "flywheel")
        if (folder / state.file).exists():
            self.state = state.read(folder)  # as whoever held the lock before left it

    @classmethod
    def begin(cls, folder: Path, state: State) -> Self:
        """A new one, with its state on disk.

        Raises:
            OutputError: the folder holds one already, or cannot be written to.
        """
        check_free(folder, state)
        flywheel = cls(folder, state)
        flywheel.state.write(folder)
        return flywheel

    @classmethod
    def go_on(cls, folder: Path, state: State, turns: int | None = None) -> Self:
        """The one of a folder, whose state was read, where it was; with another number of `turns` in all, where that is given.

        Raises:
            OptionError: fewer turns than are over.
        """
        flywheel = cls(folder, state)
        if turns is not None:
            over = flywheel.state.turn
            if turns < max(over, 1):
                flywheel.release()
                raise OptionError(f"turns={turns}: {over} are over; must be at least that")
            config = dataclasses.replace(flywheel.state.config, turns=turns)
            flywheel.state = dataclasses.replace(flywheel.state, config=config)
            flywheel.state.write(folder)
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
        """Go on to the end; whether nothing was broken off.

        Args:
            once: for one step only.
            on_step: called after each step.
            bar: shows progress, parts of an earlier run first; None: nothing is shown.
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

    def plan(self) -> str:
        """What the next step does."""
        raise NotImplementedError

    def line(self, turn: Any) -> str:
        """A turn that is over, for people."""
        raise NotImplementedError

    def _shown(self, parts: int) -> AbstractContextManager[Callable[[int], None]]:
        """Progress of the present step."""
        return self._bar(self.state.step, parts) if self._bar else nullcontext(lambda count: None)

    def _file(self, name: str) -> Path:
        return turn_file(self.folder, self.state, name)


def turn_file(folder: Path, state: TurnsState, name: str) -> Path:
    """A file of the turn that runs."""
    return folder / f"turn-{state.turn:03d}" / name


def check_free(folder: Path, state: TurnsState) -> None:
    """Refuse a folder that holds a flywheel.

    Raises:
        OutputError: saying how to go on with it.
    """
    if (folder / state.file).exists():
        raise OutputError(
            f"{folder}: holds a flywheel; `{state.command} resume {folder}` goes on with it, also with more --turns, or name another --out"
        )
