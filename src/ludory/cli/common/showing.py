"""What commands show at the terminal: progress, tables, how a game ended."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ludory.visible import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ludory.data.replay import Replay
    from ludory.envs.facts import GameFacts


@contextmanager
def games_bar(
    total: int, shown: bool = True, title: str = "games", unit: str = "games"
) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, hidden when that is not a terminal; yields a function that adds to the number of finished units."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Units per second over the last half minute, so that games of an earlier run soon count no more."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            shown = "" if speed is None else f"{speed:,.0f}" if speed >= 10 else f"{speed:.2f}"
            return Text(shown and f"{shown} {unit}/s")

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda games: bar.advance(task, games)


class _StderrLines(logging.Handler):
    """One line on stderr per message, above a progress bar; no line comes twice."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        said = record.getMessage()
        if said not in self._said:
            self._said.add(said)
            print(f"ludory: {visible(said)}", file=sys.stderr)


@contextmanager
def log_on_stderr() -> Iterator[None]:
    """Show what is logged meanwhile, such as which of two implementations a training takes, or what a network sees."""
    log, handler = logging.getLogger("ludory"), _StderrLines()
    before = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def show_table(table: RenderableType) -> None:
    """Print a table; brackets in its texts are not markup."""
    from rich.console import Console

    Console(markup=False, highlight=False).print(table)


def outcome(facts: GameFacts, replay: Replay) -> str:
    """Number of moves and return, such as "Finished after 62 moves, return 19."; each seat's return where they may differ."""
    state = "Finished" if replay.finished else "Left"
    if facts.reward == "shared":
        returns = f"return {replay.returns[0]:g}"
    else:
        returns = "returns " + ", ".join(f"seat {seat}: {value:g}" for seat, value in enumerate(replay.returns))
    moves = len(replay.moves)
    return f"{state} after {moves} move{'' if moves == 1 else 's'}, {returns}."
