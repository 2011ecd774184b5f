"""A training run on disk: checkpoints by the clock, a table of metrics, a clean stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import CSVOutputFormat, Logger

from ludory.algorithms.learner import Learner

from .folder_lock import FileLock, is_first_process
from .interrupt import stop_on_interrupt


class _SaveByClock(BaseCallback):
    """Saves between iterations, where a run can be resumed to the same numbers."""

    def __init__(self, algorithm: Learner, file: Path, every: float, deadline: float | None) -> None:
        super().__init__()
        self._algorithm, self._file, self._every, self._deadline = algorithm, file, every, deadline
        self._saved = monotonic()

    def _on_rollout_start(self) -> None:
        now = monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._algorithm.stop()
        elif now - self._saved >= self._every:
            self._algorithm.save(self._file)
            self._saved = now

    def _on_step(self) -> bool:
        return True


def train_to_file(
    algorithm: Learner,
    total_timesteps: int,
    file: str | Path,
    *,
    save_every: float = 60.0,
    minutes: float | None = None,
    callback: BaseCallback | None = None,
    progress_bar: bool = False,
    lock: FileLock | None = None,
) -> int:
    """Train up to `total_timesteps`, counted from the model's own number, with the model saved in `file`.

    The file is written at the start (so that a path that cannot be written shows at once), every `save_every` seconds, and at the end;
    metrics go to a .csv beside it (-2.csv and so on for the parts of a resumed run). The first Ctrl+C or SIGTERM ends the run after
    the current iteration with everything saved, a second one at once.

    Args:
        algorithm: the learner.
        total_timesteps: timesteps in all.
        file: the checkpoint.
        save_every: seconds between checkpoints.
        minutes: stop after this time, even if timesteps are left.
        callback: of Stable-Baselines3.
        progress_bar: show rate and time left.
        lock: lock of the file if the caller holds it already, as it must to read the file first; None: taken here.

    Returns:
        The signal that interrupted the run, 0 if none did.

    Raises:
        OutputError: the place cannot be written to, or another process trains to this file.
    """
    target = Path(file)
    table = target.with_suffix(".csv")
    deadline = None if minutes is None else monotonic() + 60 * minutes
    callbacks: list[Any] = [_SaveByClock(algorithm, target, save_every, deadline)]
    with nullcontext() if lock else training_lock(target):
        algorithm.save(target)
        with _metrics_table(algorithm, table), stop_on_interrupt(algorithm.stop) as interrupted:
            algorithm.learn(
                total_timesteps,
                CallbackList(callbacks + ([callback] if callback else [])),
                progress_bar,
                reset_num_timesteps=False,
            )
        algorithm.save(target)
    return interrupted[0] if interrupted else 0


def training_lock(file: str | Path) -> AbstractContextManager[FileLock | None]:
    """The lock of a model's file; in a run of several processes the first one holds it.

    Raises:
        OutputError: another process trains to this file, or the place cannot be written to.
    """
    return FileLock(file) if is_first_process() else nullcontext()


@contextmanager
def _metrics_table(algorithm: Learner, file: Path) -> Iterator[None]:
    if not is_first_process():
        yield
        return
    before = algorithm.logger
    formats = [*before.output_formats, CSVOutputFormat(str(_next_part(file)))]
    algorithm.set_logger(Logger(before.dir, formats))
    try:
        yield
    finally:
        formats[-1].close()
        algorithm.set_logger(before)


def _next_part(file: Path) -> Path:
    """`file`, or `file` with a number when a resumed run left one: metrics already written are kept."""
    part, path = 1, file
    while path.exists():
        part += 1
        path = file.with_name(f"{file.stem}-{part}{file.suffix}")
    return path
