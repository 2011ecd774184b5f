"""A progress bar with rate and time left."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from typing_extensions import Self


class Progress:
    """Shows how far a training run is; does nothing when not `shown`."""

    def __init__(self, title: str, total: int, done: int, shown: bool) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = RichProgress(*columns, disable=not shown)
        self._task = self._bar.add_task(title, total=total, completed=done, note="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, done: int, metrics: Mapping[str, float]) -> None:
        """Show `done` timesteps, their rate and the mean return."""
        reward = metrics.get("rollout/ep_rew_mean")
        note = f"{metrics['time/fps']:,.0f}/s" + ("" if reward is None else f"  return {reward:.2f}")
        self._bar.update(self._task, completed=done, note=note)
