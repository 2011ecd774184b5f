"""`Progress`: the progress of a training run, at a terminal or in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from time import perf_counter
from types import TracebackType
from typing import Any, Protocol

from typing_extensions import Self

REDRAWN = 0.2
"""Seconds between two drawings of a notebook's bar: each is a message to the browser."""


class _Bar(Protocol):
    def start(self) -> None:
        """Show the bar."""

    def stop(self) -> None:
        """Draw it for the last time."""

    def set(self, done: int, note: str) -> None:
        """Show that so much is done."""


class _TerminalBar:
    def __init__(self, title: str, total: int, done: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = RichProgress(*columns)
        self._task = self._bar.add_task(title, total=total, completed=done, note="")
        self.start, self.stop = self._bar.start, self._bar.stop

    def set(self, done: int, note: str) -> None:
        self._bar.update(self._task, completed=done, note=note)


class _NotebookBar:
    """HTML in the cell's output, replaced as the run goes on; unlike rich's bar it needs no ipywidgets."""

    def __init__(self, title: str, total: int, done: int) -> None:
        self._title, self._total, self._done, self._note = title, total, done, ""
        self._began, self._begun, self._drawn = perf_counter(), done, 0.0
        self._handle: Any = None

    def start(self) -> None:
        from IPython.display import display

        self._handle = display(self._shown(), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        self._handle.update(self._shown(), raw=True)

    def set(self, done: int, note: str) -> None:
        self._done, self._note = done, note
        if perf_counter() - self._drawn >= REDRAWN:
            self._drawn = perf_counter()
            self.stop()

    def _shown(self) -> dict[str, str]:
        seconds, trained = perf_counter() - self._began, self._done - self._begun
        left = (
            f", {_clock(seconds * (self._total - self._done) / trained)} left"
            if trained > 0 and self._done < self._total
            else ""
        )
        words = f"{self._done:,} / {self._total:,}  {self._note}  {_clock(seconds)}{left}"
        bar = f'<progress value="{self._done}" max="{max(1, self._total)}" style="width: 20em; vertical-align: middle"></progress>'
        return {
            "text/plain": f"{self._title} {words}",
            "text/html": f"<p>{escape(self._title)} {bar} {escape(words)}</p>",
        }


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _bar(title: str, total: int, done: int) -> _Bar:
    from rich.console import Console

    return (_NotebookBar if Console().is_jupyter else _TerminalBar)(title, total, done)


class Progress:
    """Shows the progress of a training run; does nothing when not `shown`."""

    def __init__(self, title: str, total: int, done: int, shown: bool) -> None:
        self._bar = _bar(title, total, done) if shown else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, done: int, metrics: Mapping[str, float]) -> None:
        """Show `done` timesteps, their rate and the mean return."""
        if not self._bar:
            return
        reward = metrics.get("rollout/ep_rew_mean")
        self._bar.set(done, f"{metrics['time/fps']:,.0f}/s" + ("" if reward is None else f"  return {reward:.2f}"))
