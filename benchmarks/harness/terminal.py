"""What benchmarks show on the terminal: tables, lines, and how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

Shown = RenderableType


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> RichTable:
    """A table whose first `left` columns are aligned to the left and the others to the right; rows may be short."""
    made = RichTable(title=title, title_justify="left")
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place < left else "right")
    for cells in rows:
        made.add_row(*map(Text, cells))
    return made


def show(parts: Iterable[Shown]) -> None:
    """Print tables, as wide as they need, and lines."""
    console = Console(markup=False, highlight=False)
    for part in parts:
        if isinstance(part, str):
            console.print(part, soft_wrap=True)
        else:
            needed = Measurement.get(console, console.options.update(max_width=1000), part).maximum
            console.width = max(console.width, needed)
            console.print(part)


@contextmanager
def progress(name: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """A bar with the time left on the error stream, moved by each call; nothing when that is no terminal."""
    console = Console(stderr=True)
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=total, completed=done)
        yield lambda: bar.advance(task)
