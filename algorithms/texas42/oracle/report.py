"""Tables of a network beside plain play."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group
from rich.table import Table

from ludory.algorithms import figures_table
from ludory.envs.texas42.tiles import DECLARATIONS as NAMES

from .tally import DECISIONS, PLAYERS, OracleTally, scores

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


_COLUMNS = [*((player, "q_gap") for player in PLAYERS), *((player, "zero_regret") for player in PLAYERS)]


def epoch_table(title: str, metrics: Mapping[str, float]) -> Group:
    """Losses and scores of an epoch, then regret by decision."""
    title += f", {metrics['time/fps']:,.0f} samples/s, loss {metrics['train/loss']:.4f}, validation {metrics['val/loss']:.4f}"
    prefixes = {player: "val/" if player == "network" else f"val/{player}_" for player in PLAYERS}
    overall = {player: {name: metrics.get(prefix + name) for name in OVERALL} for player, prefix in prefixes.items()}
    by_decision = {
        str(decision): [metrics.get(f"{prefixes[player]}{name}_{decision}") for player, name in _COLUMNS]
        for decision in range(DECISIONS)
    }
    return Group(_overall(title, overall), _by("tiles played", by_decision))


def tally_tables(title: str, counted: OracleTally) -> Group:
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
    rows = {name.replace("_", " "): [column.get(name) for column in columns.values()] for name in OVERALL}
    return figures_table(title, columns, rows)


def _by(what: str, rows: Mapping[str, list[float | None]]) -> Table:
    columns = [f"{player}\n{name.replace('_', ' ')}" for player, name in _COLUMNS]
    return figures_table(f"by {what}", columns, rows, what)
