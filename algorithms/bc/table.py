"""The table of an epoch: the policy beside the two baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group
from rich.table import Table

COLUMNS = ("loss", "nll", "accuracy", "top3")
ROWS = {"train": "train/", "validation": "val/", "class prior": "val/prior_", "uniform": "val/uniform_"}
"""Title and prefix of the metrics."""


def epoch_table(epoch: int, num_epochs: int, metrics: Mapping[str, float]) -> Group:
    """One row each for training, validation and, on the validation games, the class prior and uniform play.

    Accuracies of several heads stand in a table of their own, a row for each.
    """
    title = f"epoch {epoch} of {num_epochs}, {metrics['time/fps']:,.0f} samples/s"
    tables = [
        _table(title, COLUMNS, [[prefix + column for column in COLUMNS] for prefix in ROWS.values()], ROWS, metrics)
    ]
    heads = sorted(name.removeprefix("val/accuracy_") for name in metrics if name.startswith("val/accuracy_"))
    if len(heads) > 1:
        names = [[f"{prefix}accuracy_{head}" for prefix in ROWS.values()] for head in heads]
        tables.append(_table("accuracy by head, where it has an effect", ROWS, names, heads, metrics))
    return Group(*tables)


def _table(
    title: str,
    columns: Iterable[str],
    names: Iterable[Iterable[str]],
    rows: Iterable[str],
    metrics: Mapping[str, float],
) -> Table:
    """Metrics by name, one row for each of `rows`; rows without a number are left out."""
    table = Table(title=title, title_justify="left")
    for column in ("", *columns):
        table.add_column(column, justify="right" if column else "left")
    for row, wanted in zip(rows, names, strict=True):
        cells = [metrics.get(name) for name in wanted]
        if any(cell is not None for cell in cells):
            table.add_row(row, *("" if cell is None else f"{cell:.4f}" for cell in cells))
    return table
