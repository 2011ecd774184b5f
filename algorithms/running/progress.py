"""What a run shows: a progress bar with rate and time left, and tables of figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from typing_extensions import Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.table import Table


class Progress:
    """Shows the progress of a training run; does nothing when not `shown`."""

    def __init__(self, title: str, total: int, done: int, shown: bool) -> None:
        self._bar: RichProgress | None = None
        if not shown:
            return
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
        note = f"{metrics['time/fps']:,.0f}/s" + ("" if reward is None else f"  return {reward:.2f}")
        self._bar.update(self._task, completed=done, note=note)


def figures_table(
    title: str, columns: Iterable[str], rows: Mapping[str, Sequence[float | None]], first_column: str = ""
) -> Table:
    """Figures with four decimals, a row for each name; a missing figure is an empty cell, and a row without figures is left out."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column(first_column)
    for column in columns:
        table.add_column(column, justify="right")
    for name, figures in rows.items():
        if any(figure is not None for figure in figures):
            table.add_row(name, *("" if figure is None else f"{figure:.4f}" for figure in figures))
    return table
