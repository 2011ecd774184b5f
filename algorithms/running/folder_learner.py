"""`FolderLearner`: a learner whose run is a folder, in which everything is on disk after every iteration."""

from __future__ import annotations

import dataclasses
import json
import shutil
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

from typing_extensions import Self

from ludory.agents.networks.build import PolicySpec
from ludory.algorithms.learner import Learner, game_to_load
from ludory.atomic import atomic_file, cannot_write
from ludory.checkpoints.learner_folder import FILE, FORMAT, read_head
from ludory.envs import EnvLike, Game
from ludory.errors import OptionError, OutputError
from ludory.paths import OwnFolder, as_path


class FolderLearner(Learner):
    """A learner whose run lives in a folder, such as a league.

    The folder is the one named in `folder=`, else the first one that it is saved to; before that, a temporary one.
    Between two calls of `learn` nothing is locked: another process may resume the folder.

    Args:
        game: the game; every process that resumes the run makes it by its id.
        config: an instance of `config_class`.
        policy: network of new players.
        folder: the folder; None: see above.

    Raises:
        OptionError: the game has no id.
        OutputError: the folder holds a run already.
    """

    run_is_folder: ClassVar[bool] = True
    mark: ClassVar[str]
    """The file that shows that the run of a folder has begun."""

    def __init__(self, game: Game, config: object, policy: str | PolicySpec, folder: str | Path | None) -> None:
        if not game.id:
            raise OptionError(f"{self.id}: {game.facts.name} has no id; register the game and name it in env=")
        super().__init__(game, config)
        self.policy = policy
        self._temporary: OwnFolder | None = None
        self._folder = None if folder is None else Path(folder)
        if self.begun:
            raise OutputError(
                f"{folder}: holds a run already; ludory.load({str(folder)!r}) goes on with it, or name another folder"
            )
        self._done = 0
        """Timesteps of the run, however often they were counted from 0."""

    @property
    def folder(self) -> Path:
        """Where the run lives."""
        if self._folder is None:
            self._temporary = OwnFolder(self)
            self._folder = self._temporary.path
        return self._folder

    @property
    def begun(self) -> bool:
        """Whether the folder holds a run."""
        return self._folder is not None and (self._folder / self.mark).exists()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder and resume its run."""
        offset = self._done - self.num_timesteps
        self._write_head(self.folder)
        with self.opened_run(offset + self._total_timesteps):
            yield

    @abstractmethod
    def opened_run(self, total: int) -> AbstractContextManager[object]:
        """A context in which `iterate` works on a new run, or on that of `folder`, up to `total` timesteps in all."""

    def counted(self, done: int) -> int:
        """Timesteps from `_done` to `done`, which becomes the new `_done`."""
        made, self._done = done - self._done, done
        return made

    def save(self, file: str | Path) -> None:
        """Move the run into the folder `file`, or copy it there.

        A run without a folder moves in; others are copied. Nothing happens if the run lives there already:
        every iteration is on disk.

        Raises:
            OutputError: the folder holds something else, or cannot be written to.
        """
        target = as_path(file)
        if self._folder is not None and target.resolve() == self._folder.resolve():
            self._write_head(target)
            return
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise OutputError(f"{target}: exists already; name another folder")
        if self._folder is None:
            self._folder = target
            self._write_head(target)
            return
        self._copy_to(target)
        if self._temporary is not None and self.idle:
            self._temporary.remove()
            self._temporary, self._folder = None, target

    @property
    def idle(self) -> bool:
        """Whether the folder is not in use."""
        return True

    def _copy_to(self, target: Path) -> None:
        """Copy the folder, completely or not at all."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            place = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as error:
            raise cannot_write(target, error, "name a folder that you may write to") from error
        try:
            shutil.copytree(self.folder, place / "copy", ignore=shutil.ignore_patterns("lock"))
            self._write_head(place / "copy")
            (place / "copy").replace(target)
        except OSError as error:
            raise cannot_write(target, error, "name a folder that you may write to") from error
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _write_head(self, folder: Path) -> None:
        head = {
            "format": FORMAT,
            "algorithm": self.id,
            "config": dataclasses.asdict(self.config),
            "policy": self.policy if isinstance(self.policy, str) else self.policy._asdict(),
            "env": {"id": self.game.id, "options": dict(self.game.options)},
        }
        with atomic_file(folder / FILE, "w") as handle:
            json.dump(head, handle, indent=1)
            handle.write("\n")

    @classmethod
    def load(cls, file: str | Path, env: EnvLike | None = None, **changes: Any) -> Self:
        """As `Learner.load`, of a folder.

        Raises:
            CheckpointError: no folder of this learner, damaged, or of another game.
            OptionError: a config field that cannot change.
        """
        folder = as_path(file)
        head = cls.read_head(folder)
        game = game_to_load(cls, file, head, env)
        fixed = [name for name in changes if name not in cls.changeable]
        if fixed:
            raise OptionError(f"{file}: {', '.join(fixed)} cannot change; begin a new run")
        policy = head["policy"] if isinstance(head["policy"], str) else PolicySpec(**head["policy"])
        model: Any = cls(policy, game, **cls.read_config(head["config"]) | changes)  # type: ignore[arg-type]  # of a subclass
        model._folder = folder
        model.num_timesteps = model._done = model.found() if model.begun else 0
        loaded: Self = model
        return loaded

    @classmethod
    def read_head(cls, folder: Path) -> dict[str, Any]:
        """As the function of this name; also for runs that another command began."""
        if (folder / FILE).exists() or not (folder / cls.mark).exists():
            return read_head(folder)
        begun: Any = cls.begun_elsewhere(folder)
        names = [part.name for part in dataclasses.fields(cls.config_class)]
        config = {name: value for name, value in begun.to_json().items() if name in names}
        game = {"id": begun.env, "options": dict(begun.options)}
        return {"algorithm": cls.id, "config": config, "policy": getattr(begun, "policy", "auto"), "env": game}

    @classmethod
    @abstractmethod
    def begun_elsewhere(cls, folder: Path) -> Any:
        """The config of a run that another command began: fields of `config_class`, `env`, `options` and `to_json`."""

    @classmethod
    def read_config(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments of the constructor from the JSON of a config."""
        return dict(saved)

    @abstractmethod
    def found(self) -> int:
        """Timesteps of the run in `folder`."""
