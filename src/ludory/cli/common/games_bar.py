"""`games_bar`: how many games are over, how fast they go now, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class GamesPerSecond(ProgressColumn):
    """Of the last half minute, so that games of an earlier run soon count no more."""

    def render(self, task: Task) -> Text:
        """The rate; nothing before there is one."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} games/s" if speed >= 10 else f"{speed:.2f} games/s")


@contextmanager
def games_bar(total: int, shown: bool = True, title: str = "games") -> Iterator[Callable[[int], None]]:
    """A bar on the error stream, nothing when that is no terminal; returns what is called with the number of games that came to an end."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        GamesPerSecond(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda games: bar.advance(task, games)
