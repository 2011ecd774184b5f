"""Tables of a network beside plain play."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group
from rich.table import Table

from ludory.envs.texas42.tiles import DECLARATIONS as NAMES

from .tally import DECISIONS, PLAYERS, Tally, scores

OVERALL = (
    "q_gap",
    "q_gap_states",
    "q_gap_p99",
    "q_gap_max",
    "zero_regret",
    "blunder",
    "q_mae",
    "value_mae",
    "accuracy",
    "tie_ceiling",
)


def epoch_table(epoch: int, num_epochs: int, metrics: Mapping[str, float]) -> Group:
    """Losses and scores of an epoch, then regret by decision."""
    title = f"epoch {epoch} of {num_epochs}, {metrics['time/fps']:,.0f} samples/s, loss {metrics['train/loss']:.4f}, validation {metrics['val/loss']:.4f}"
    prefixes = {player: "val/" if player == "network" else f"val/{player}_" for player in PLAYERS}
    overall = {player: {name: metrics.get(prefix + name) for name in OVERALL} for player, prefix in prefixes.items()}
    by_decision = {
        str(decision): [metrics.get(f"{prefixes[player]}{name}_{decision}") for player, name in _COLUMNS]
        for decision in range(DECISIONS)
    }
    return Group(_overall(title, overall), _by("tiles played", by_decision))


_COLUMNS = [*((player, "q_gap") for player in PLAYERS), *((player, "zero_regret") for player in PLAYERS)]


def tally_tables(title: str, counted: Tally) -> Group:
    """Scores of everything, by decision and by declaration."""
    overall = {player: dict(scores(counted, number)[0]) for number, player in enumerate(PLAYERS)}
    tables = []
    for by, names in (("decision", [str(k) for k in range(DECISIONS)]), ("declaration", list(NAMES))):
        found = {player: scores(counted, number, by) for number, player in enumerate(PLAYERS)}
        rows = {
            names[k]: [found[player][k].get(name) for player, name in _COLUMNS] for k in range(len(found["network"]))
        }
        tables.append(_by("tiles played" if by == "decision" else "declaration", rows))
    return Group(_overall(title, overall), *tables)


def _overall(title: str, columns: Mapping[str, Mapping[str, float | None]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("", *columns):
        table.add_column(column, justify="right" if column else "left")
    for name in OVERALL:
        table.add_row(name.replace("_", " "), *(_cell(column.get(name)) for column in columns.values()))
    return table


def _by(what: str, rows: Mapping[str, list[float | None]]) -> Table:
    table = Table(title=f"by {what}", title_justify="left")
    table.add_column(what)
    for player, name in _COLUMNS:
        table.add_column(f"{player}\n{name.replace('_', ' ')}", justify="right")
    for title, cells in rows.items():
        if cells[0] is not None:
            table.add_row(title, *map(_cell, cells))
    return table


def _cell(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"
