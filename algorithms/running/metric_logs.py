"""Where the metrics of a run go: CSV, TensorBoard, Weights & Biases, the terminal; formats of Stable-Baselines3's `Logger`."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stable_baselines3.common.logger import HumanOutputFormat, KVWriter, Logger, TensorBoardOutputFormat

from ludory.atomic import atomic_file, cannot_write
from ludory.errors import OptionError, PluginError
from ludory.plugins.spec import CHECKPOINT_SUFFIX

if TYPE_CHECKING:
    from ludory.algorithms.learner import Learner

LOGS = ("csv", "tensorboard", "wandb")
"""Names of logs."""
FIRST = ("time/total_timesteps", "time/elapsed", "time/fps")
"""The first columns of a table; the others follow by name."""


class CSVLog(KVWriter):
    """A table of numbers with the time first, then all metrics by name.

    A metric that comes later gets its column in the same order: the file is then written again.

    Args:
        file: to write.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._started = file, time.monotonic()
        self._columns: list[str] = []
        self._rows: list[dict[str, Any]] = []
        self._open("w")

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Add a row."""
        shown = {
            name: value
            for name, value in key_values.items()
            if "csv" not in (key_excluded.get(name) or ()) and isinstance(value, int | float | str)
        }
        row = {"time/elapsed": round(time.monotonic() - self._started, 3), **shown}
        self._rows.append(row)
        if set(row) <= set(self._columns):
            self._writer.writerow(row)
            self._handle.flush()
            return
        self._columns = in_order({*self._columns, *row})
        self._handle.close()
        with atomic_file(self._file, "w") as handle:
            writer = csv.DictWriter(handle, self._columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows)
        self._open("a")

    def _open(self, mode: str) -> None:
        self._handle = self._file.open(mode, newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._handle, self._columns, lineterminator="\n")

    def close(self) -> None:
        """Close the file."""
        self._handle.close()


def in_order(names: set[str]) -> list[str]:
    """Names of columns, those of the time first."""
    return [name for name in FIRST if name in names] + sorted(names - set(FIRST))


class WandbLog(KVWriter):
    """A run of Weights & Biases.

    Args:
        name: of the run.
        folder: for its files.
        config: shown beside the run.

    Raises:
        PluginError: Weights & Biases is not installed.
    """

    def __init__(self, name: str, folder: Path, config: Mapping[str, Any]) -> None:
        if not find_spec("wandb"):
            raise PluginError('--log wandb needs Weights & Biases; type: pip install "ludory[wandb]"')
        import wandb

        self._run: Any = wandb.init(project="ludory", name=name, dir=str(folder), config=dict(config))

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Log the numbers."""
        self._run.log({name: value for name, value in key_values.items() if isinstance(value, int | float)}, step=step)

    def close(self) -> None:
        """End the run."""
        self._run.finish()


def check_logs(logs: Sequence[str]) -> None:
    """Check the names of logs, and that what they need is installed.

    Raises:
        OptionError: there is no such log.
        PluginError: a package is missing.
    """
    for name in logs:
        if name not in LOGS:
            raise OptionError(f"--log {name}: must be one or more of {', '.join(LOGS)}, e.g. --log csv,tensorboard")
    if "wandb" in logs and not find_spec("wandb"):
        raise PluginError('--log wandb needs Weights & Biases; type: pip install "ludory[wandb]"')


def make_formats(learner: Learner, logs: Sequence[str], file: Path) -> list[KVWriter]:
    """The formats of a run whose model is in `file`.

    A part of a resumed run gets a table and a TensorBoard folder of its own: NAME.csv, NAME-2.csv; NAME-tensorboard/1, /2.
    """
    formats: list[KVWriter] = []
    if "csv" in logs:
        formats.append(table_beside(file))
    if "tensorboard" in logs:
        formats.append(_tensorboard(file.with_name(f"{_name(file)}-tensorboard"), ""))
    if "wandb" in logs:
        config = {name: getattr(learner.config, name) for name in learner.config.__dataclass_fields__}
        formats.append(WandbLog(_name(file), file.parent, {"algorithm": learner.id, "game": learner.game.id, **config}))
    return formats


def table_beside(file: Path) -> CSVLog:
    """A new table for a run whose model is in `file`: NAME.csv, or NAME-2.csv where an earlier part of the run has left one.

    Raises:
        OutputError: the place cannot be written to.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return CSVLog(_next_part(file.with_name(f"{_name(file)}.csv")))
    except OSError as error:
        raise cannot_write(file, error, "name a folder that you may write to") from error


def _name(file: Path) -> str:
    """The name of a model without its ending; the dots of a folder's name stay."""
    return file.name.removesuffix(CHECKPOINT_SUFFIX)


@contextmanager
def also_logged(learner: Learner, formats: Sequence[KVWriter]) -> Iterator[None]:
    """While the block runs, `learner` logs to `formats` as well; they are closed afterwards."""
    if not formats:  # the logger that a user has set stays
        yield
        return
    before = learner.logger
    learner.set_logger(Logger(before.dir, [*before.output_formats, *formats]))
    try:
        yield
    finally:
        for one in formats:
            one.close()
        learner.set_logger(before)


def checked_log_interval(interval: object) -> int:
    """`log_interval` of `Learner.learn`.

    Raises:
        OptionError: it is not an integer of at least 1.
    """
    if isinstance(interval, bool) or not isinstance(interval, int) or interval < 1:
        raise OptionError(f"log_interval={interval!r}: must be an integer of at least 1")
    return interval


def formats_as_sb3(name: str, verbose: int, tensorboard_log: str | Path | None) -> list[KVWriter]:
    """What `verbose` and `tensorboard_log` mean in Stable-Baselines3: tables at the terminal; a folder NAME_1, NAME_2 for each `learn`."""
    formats: list[KVWriter] = [HumanOutputFormat(sys.stdout)] if verbose else []
    if tensorboard_log is not None:
        formats.append(_tensorboard(Path(tensorboard_log), f"{name}_"))
    return formats


def _tensorboard(folder: Path, prefix: str) -> KVWriter:
    part = 1
    while (folder / f"{prefix}{part}").exists():
        part += 1
    return TensorBoardOutputFormat(str(folder / f"{prefix}{part}"))


def _next_part(file: Path) -> Path:
    """`file`, or `file` with a number when a resumed run left one: metrics already written are kept."""
    part, path = 1, file
    while path.exists():
        part += 1
        path = file.with_name(f"{file.stem}-{part}{file.suffix}")
    return path
