"""A training run on disk: checkpoints by the clock, logs of metrics, a clean stop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import monotonic

from ludory.algorithms.learner import Learner

from .callbacks import BetweenIterations, Callbacks, MaybeCallback
from .folder_lock import FileLock, is_first_process
from .interrupt import stop_on_interrupt
from .metric_logs import also_logged, check_logs, make_formats


class _SaveByClock(BetweenIterations):
    """Saves between iterations, where a run can be resumed to the same numbers."""

    def __init__(self, algorithm: Learner, file: Path, every: float, deadline: float | None) -> None:
        self._algorithm, self._file, self._every, self._deadline = algorithm, file, every, deadline
        self._saved = monotonic()

    def on_rollout_start(self) -> None:
        """Save, or stop."""
        now = monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._algorithm.stop()
        elif now - self._saved >= self._every:
            self._algorithm.save(self._file)
            self._saved = now


def train_to_file(
    algorithm: Learner,
    total_timesteps: int,
    file: str | Path,
    *,
    save_every: float = 60.0,
    minutes: float | None = None,
    callback: MaybeCallback = None,
    progress_bar: bool = False,
    lock: FileLock | None = None,
    logs: Sequence[str] = ("csv",),
) -> int:
    """Train until the model has `total_timesteps`, those that it had before included, with the model saved in `file`.

    The file is written at the start (so that a path that cannot be written shows at once), every `save_every` seconds, and at the end;
    metrics go to the logs beside it (a part of a resumed run has logs of its own: -2.csv and so on). The first Ctrl+C or SIGTERM ends the run after
    the current iteration with everything saved, a second one at once.

    Args:
        algorithm: the learner.
        total_timesteps: timesteps in all.
        file: the checkpoint.
        save_every: seconds between checkpoints.
        minutes: stop after this time, even if timesteps are left.
        callback: as for `Learner.learn`.
        progress_bar: show rate and time left.
        lock: lock of the file if the caller holds it already, as it must to read the file first; None: taken here.
        logs: names out of "csv", "tensorboard" and "wandb".

    Returns:
        The signal that interrupted the run, 0 if none did.

    Raises:
        OutputError: the place cannot be written to, or another process trains to this file.
        OptionError, PluginError: there is no such log, or its package is missing.
    """
    target = Path(file)
    check_logs(logs)
    deadline = None if minutes is None else monotonic() + 60 * minutes
    saves = _SaveByClock(algorithm, target, save_every, deadline)
    with nullcontext() if lock else training_lock(target):
        algorithm.save(target)
        formats = make_formats(algorithm, logs, target) if is_first_process() else []
        with also_logged(algorithm, formats), stop_on_interrupt(algorithm.stop) as interrupted:
            algorithm.learn(
                max(0, total_timesteps - algorithm.num_timesteps),
                [saves, Callbacks(callback)],
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
