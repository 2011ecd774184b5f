"""The table of an epoch: the policy beside the two baselines."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

COLUMNS = ("loss", "nll", "accuracy", "top3")
ROWS = {"train": "train/", "validation": "val/", "class prior": "val/prior_", "uniform": "val/uniform_"}
"""Title and prefix of the metrics."""


def epoch_table(epoch: int, num_epochs: int, metrics: Mapping[str, float]) -> Table:
    """One row each for training, validation and, on the validation games, the class prior and uniform play."""
    heads = sorted(name.removeprefix("val/accuracy_") for name in metrics if name.startswith("val/accuracy_"))
    columns = (*COLUMNS, *(f"accuracy_{head}" for head in heads))
    table = Table(title=f"epoch {epoch} of {num_epochs}, {metrics['time/fps']:,.0f} samples/s", title_justify="left")
    for column in ("", *columns):
        table.add_column(column.replace("_", "\n", 1), justify="right" if column else "left")
    for title, prefix in ROWS.items():
        cells = [metrics.get(prefix + column) for column in columns]
        if any(cell is not None for cell in cells):
            table.add_row(title, *("" if cell is None else f"{cell:.4f}" for cell in cells))
    return table
