"""`games_bar`: how many games are over, how fast, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def games_bar(total: int, shown: bool = True, title: str = "games") -> Iterator[Callable[[int], None]]:
    """A bar on the error stream, nothing when that is no terminal; gives what is called with the number of games that came to an end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task(title, total=total, rate="")

        def advance(games: int) -> None:
            done = bar.tasks[0].completed + games
            rate = done / max(time.monotonic() - start, 1e-9)
            bar.update(task, advance=games, rate=f"{rate:,.0f} games/s" if rate >= 10 else f"{rate:.2f} games/s")

        yield advance
