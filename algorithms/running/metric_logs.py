"""Where the metrics of a run go: CSV, TensorBoard, Weights & Biases, the terminal; in the shape of Stable-Baselines3's logger."""

from __future__ import annotations

import csv
import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partialmethod
from importlib.util import find_spec
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from ludory.atomic import atomic_file, cannot_write
from ludory.errors import OptionError
from ludory.plugins.requirements import imported, missing_dependency
from ludory.plugins.spec import CHECKPOINT_SUFFIX

if TYPE_CHECKING:
    from ludory.algorithms.learner import Learner

LOGS = ("csv", "tensorboard", "wandb")
"""Names of logs."""
FIRST = ("time/total_timesteps", "time/elapsed", "time/fps")
"""The first columns of a table; the others follow by name."""


class MetricLog(Protocol):
    """A place for metrics: as `KVWriter` of Stable-Baselines3."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write values by name, except those whose entry in `key_excluded` names this kind of log; `step` counts timesteps."""

    def close(self) -> None:
        """Nothing is written after this."""


class Logger:
    """Collects the metrics of an iteration, then writes them to logs: as `Logger` of Stable-Baselines3, whose callbacks call it.

    Args:
        logs: where they go; `output_formats` in Stable-Baselines3.
        dir: folder of the logs, for callbacks that write beside them.
    """

    def __init__(self, logs: Sequence[MetricLog] = (), dir: str | None = None) -> None:
        self.output_formats, self.dir, self.level = list(logs), dir, logging.INFO
        self.name_to_value: dict[str, Any] = defaultdict(float)
        self.name_to_count: dict[str, int] = defaultdict(int)
        self.name_to_excluded: dict[str, tuple[str, ...]] = {}

    def record(self, key: str, value: object, exclude: str | tuple[str, ...] | None = None) -> None:
        """Set a metric; `exclude` names kinds of logs that do not get it: "stdout", "csv", "tensorboard"."""
        self.name_to_value[key] = value
        self.name_to_excluded[key] = exclude if isinstance(exclude, tuple) else (exclude or "",)

    def record_mean(self, key: str, value: float | None, exclude: str | tuple[str, ...] | None = None) -> None:
        """As `record`, with the mean of all values since the last `dump`."""
        if value is not None:
            count = self.name_to_count[key]
            self.record(key, (self.name_to_value[key] * count + value) / (count + 1), exclude)
            self.name_to_count[key] = count + 1

    def dump(self, step: int = 0) -> None:
        """Write all metrics, and forget them."""
        for log in self.output_formats:
            log.write(self.name_to_value, self.name_to_excluded, step)
        for values in (self.name_to_value, self.name_to_count, self.name_to_excluded):
            values.clear()

    def get_dir(self) -> str | None:
        """As `dir`."""
        return self.dir

    def set_level(self, level: int) -> None:
        """Print lines of this level and above only; levels are those of `logging`."""
        self.level = level

    def log(self, *words: object, level: int = logging.INFO) -> None:
        """Print a line, if there is a log at the terminal."""
        if self.level <= level and any(isinstance(log, TerminalLog) for log in self.output_formats):
            print(*words, flush=True)

    debug, info = partialmethod(log, level=logging.DEBUG), partialmethod(log, level=logging.INFO)
    warn, error = partialmethod(log, level=logging.WARNING), partialmethod(log, level=logging.ERROR)

    def close(self) -> None:
        """Close the logs."""
        for log in self.output_formats:
            log.close()


class TerminalLog(MetricLog):
    """Tables on stdout, as Stable-Baselines3 prints them: one for each iteration, metrics below the first part of their name."""

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Print a table."""
        rows: dict[tuple[str, str], str] = {}
        for name, value in sorted(key_values.items()):
            if not {"stdout", "log"} & set(key_excluded.get(name) or ()):
                group, slash, rest = name.partition("/")
                if slash:
                    rows[group, ""] = ""
                rows[group, rest or "/"] = _cut(f"{value:<8.3g}" if isinstance(value, float) else str(value))
        shown = [(_cut(_title(*row)), value) for row, value in rows.items()]
        if shown:
            widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
            rule = "-" * (sum(widths) + 7)
            lines = [f"| {title:{widths[0]}} | {value:{widths[1]}} |" for title, value in shown]
            print(rule, *lines, rule, sep="\n", flush=True)

    def close(self) -> None:
        """Nothing is open."""


def _title(group: str, rest: str) -> str:
    """The first cell of a row: of a group, of a metric in it, or of a metric without group, whose `rest` is "/"."""
    return group if rest == "/" else f"   {rest}" if rest else f"{group}/"


def _cut(text: str, length: int = 36) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."


class TensorBoardLog(MetricLog):
    """Event files of TensorBoard in `folder`: numbers, texts, and arrays as histograms.

    Raises:
        PluginError: TensorBoard is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError as error:
            raise missing_dependency("a log for TensorBoard", "tensorboard") from error
        self._writer = SummaryWriter(str(folder))

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Add the values at `step`."""
        for name, value in key_values.items():
            if "tensorboard" in (key_excluded.get(name) or ()):
                continue
            if isinstance(value, str):
                self._writer.add_text(name, value, step)
            elif isinstance(value, Number | np.generic):
                self._writer.add_scalar(name, value, step)
            elif isinstance(value, np.ndarray | torch.Tensor):
                self._writer.add_histogram(name, torch.as_tensor(value), step)
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._writer.close()


class CSVLog(MetricLog):
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
        # the whole table again, with the new columns in their places
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


class WandbLog(MetricLog):
    """A run of Weights & Biases.

    Args:
        name: of the run.
        folder: for its files.
        config: shown beside the run.

    Raises:
        PluginError: Weights & Biases is not installed.
    """

    def __init__(self, name: str, folder: Path, config: Mapping[str, Any]) -> None:
        try:
            import wandb
        except ModuleNotFoundError as error:
            raise missing_dependency("--log wandb", "wandb") from error

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
    for name in ("tensorboard", "wandb"):
        if name in logs and not find_spec(name):
            raise missing_dependency(f"--log {name}", name)


def make_formats(learner: Learner, logs: Sequence[str], file: Path) -> list[MetricLog]:
    """The formats of a run whose model is in `file`.

    A part of a resumed run gets a table and a TensorBoard folder of its own: NAME.csv, NAME-2.csv; NAME-tensorboard/1, /2.
    """
    formats: list[MetricLog] = []
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
def also_logged(learner: Learner, formats: Sequence[MetricLog]) -> Iterator[None]:
    """While the block runs, `learner` logs to `formats` as well; they are closed afterwards."""
    if not formats:  # the logger that a user has set stays
        yield
        return
    before = learner.logger
    learner.set_logger(Logger([*before.output_formats, *formats], before.dir))
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


def formats_as_sb3(name: str, verbose: int, tensorboard_log: str | Path | None) -> list[MetricLog]:
    """What `verbose` and `tensorboard_log` mean in Stable-Baselines3: tables at the terminal; a folder NAME_1, NAME_2 for each `learn`."""
    formats: list[MetricLog] = [TerminalLog()] if verbose else []
    if tensorboard_log is not None:
        formats.append(_tensorboard(Path(tensorboard_log), f"{name}_"))
    return formats


def _tensorboard(folder: Path, prefix: str) -> MetricLog:
    part = 1
    while (folder / f"{prefix}{part}").exists():
        part += 1
    target = folder / f"{prefix}{part}"
    # Callbacks of Stable-Baselines3 may log its figures, videos and hyperparameters.
    formats = imported("stable_baselines3.common.logger:TensorBoardOutputFormat")
    log: MetricLog = formats[0](str(target)) if formats else TensorBoardLog(target)
    return log


def _next_part(file: Path) -> Path:
    """`file`, or `file` with a number when a resumed run left one: metrics already written are kept."""
    part, path = 1, file
    while path.exists():
        part += 1
        path = file.with_name(f"{file.stem}-{part}{file.suffix}")
    return path
