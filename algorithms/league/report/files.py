"""Writes a report: report.json, three Parquet tables and a page, each file atomically."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludory.algorithms.league.matchmaking.opponent_choice import BRANCHES
from ludory.atomic import atomic_file

from .build import SCHEMA, LeagueReport, Measured, mean_smallest
from .input import GROUPS, CurvePoint

if TYPE_CHECKING:
    import pyarrow

FILES = ("report.json", "players.parquet", "payoff.parquet", "curves.parquet", "report.html")


def write_report(report: LeagueReport, folder: str | Path) -> list[Path]:
    """Write all files of a report into `folder`; returns their paths.

    Raises:
        OutputError: the folder cannot be written to.
    """
    from .page import report_page

    targets = [Path(folder) / name for name in FILES]
    with atomic_file(targets[0], "w") as handle:
        handle.write(_json_text(report_json(report)))
    for target, table in zip(targets[1:4], tables(report), strict=True):
        _write_parquet(table, target)
    with atomic_file(targets[4], "w") as handle:
        handle.write(report_page(report))
    return targets


def _json_text(content: Mapping[str, Any]) -> str:
    """JSON with a line for each row of a table; Python's own indentation takes minutes for a long league."""
    parts = []
    for name, value in content.items():
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(json.dumps(row, allow_nan=False) for row in value) + "\n ]"
        else:
            text = json.dumps(value, allow_nan=False)
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def report_json(report: LeagueReport) -> dict[str, Any]:
    """The whole report as one object; None: it was not played."""
    league = report.league
    config = dict(league.created.get("config", {}))
    return {
        "schema": SCHEMA,
        "ludory": report.origin.version,
        "commit": report.origin.commit,
        "date": report.origin.date,
        "machine": report.origin.machine,
        "config": config,
        "seeds": league.created.get("seeds", config.get("seed")),
        "budget": {name: config[name] for name in ("budget_steps", "minutes", "budget") if name in config},
        "teacher_sha256": league.created.get("teacher_sha256"),
        "versions": league.created.get("versions"),
        "seconds": league.seconds,
        "closed": league.closed,
        "warnings": list(report.warnings),
        "games": {
            "evaluator": sum(counts.games for counts in league.matrix.values()),
            "training": sum(counts.games for counts in league.training.values()),
        },
        "players": [player_row(one) for one in report.players],
        "payoff": [row._asdict() for row in report.payoff],
        "metagame": report.metagame and _metagame(report),
        "relative_performance": [one._asdict() for one in report.relative],
        "fresh_exploiters": {
            "runs": [asdict(one) for one in league.exploitations],
            "targets": [one._asdict() for one in report.exploited],
        },
        "forgetting": {
            "copies": [{**one._asdict(), "smallest": one.smallest._asdict()} for one in report.remembered],
            "mean": dict(mean_smallest(report)),
        },
        "branches": [{**asdict(one), "meaning": BRANCHES.get(one.branch)} for one in league.branches],
        "milestones": [asdict(one) for one in league.milestones],
        "curves": list(curve_rows(league.curve)),
    }


def player_row(one: Measured) -> dict[str, Any]:
    """One player as a flat row."""
    player, rating = one.player, one.rating
    row: dict[str, Any] = asdict(player) | {"games": one.games}
    row |= {"elo": rating and rating.elo, "elo_deviation": rating and rating.deviation}
    row |= {"elo_low": rating and rating.low, "elo_high": rating and rating.high}
    for name in ("nash", "skill", "alpha_rank", "alpha_rank_1"):
        row[name] = getattr(one, name)
    for name, smallest in (("min_win_rate", one.smallest), ("min_win_rate_anchors", one.smallest_anchor)):
        row |= {name: smallest and smallest.rate, f"{name}_against": smallest and smallest.against}
        row[f"{name}_games"] = smallest and smallest.games
    return row


def curve_rows(curve: Sequence[CurvePoint]) -> Iterator[dict[str, Any]]:
    """Points of the curves as flat rows, without metrics that a learner did not log."""
    for point in curve:
        row: dict[str, Any] = {"time": point.time, "player": point.player, "step": point.step, "updates": point.updates}
        for group in GROUPS:
            counts = point.against.get(group)
            row[f"win_rate_{group}"] = counts.score if counts else None
            row[f"games_{group}"] = counts.games if counts else 0
        yield row | dict(point.metrics)


def tables(report: LeagueReport) -> list[pyarrow.Table]:
    """Players, payoff and curves."""
    import pyarrow as pa

    text, real, whole = pa.string(), pa.float64(), pa.int64()
    players = {"id": text, "role": text, "frozen": pa.bool_(), "parent": text, "number": whole, "step": whole}
    players |= {"sha256": text, "file": text, "games": whole}
    players |= dict.fromkeys(("elo", "elo_deviation", "elo_low", "elo_high"), real)
    players |= dict.fromkeys(("nash", "skill", "alpha_rank", "alpha_rank_1"), real)
    for name in ("min_win_rate", "min_win_rate_anchors"):
        players |= {name: real, f"{name}_against": text, f"{name}_games": whole}
    payoff = {"home": text, "away": text} | dict.fromkeys(("games", "wins", "draws", "losses"), whole)
    payoff |= dict.fromkeys(("score", "low", "high", "shrunk"), real) | {"interval": text, "source": text}
    curves: dict[str, Any] = {"time": real, "player": text, "step": whole, "updates": whole}
    for group in GROUPS:
        curves |= {f"win_rate_{group}": real, f"games_{group}": whole}
    curves |= dict.fromkeys(metric_names(report.league.curve), real)
    contents: list[tuple[Mapping[str, Any], list[dict[str, Any]]]] = [
        (players, [player_row(one) for one in report.players]),
        (payoff, [row._asdict() for row in report.payoff]),
        (curves, list(curve_rows(report.league.curve))),
    ]
    about = {b"schema": SCHEMA.encode()}
    return [pa.Table.from_pylist(rows, schema=pa.schema(list(fields.items()), about)) for fields, rows in contents]


def metric_names(curve: Sequence[CurvePoint]) -> list[str]:
    """Names of all metrics of the learners, in order of appearance."""
    return list(dict.fromkeys(name for point in curve for name in point.metrics))


def _metagame(report: LeagueReport) -> dict[str, Any]:
    found = report.metagame
    return {} if found is None else {**found._asdict(), "cycle": found.cycle and found.cycle._asdict()}


def _write_parquet(table: pyarrow.Table, target: Path) -> None:
    import pyarrow.parquet as pq

    with atomic_file(target) as handle:
        pq.write_table(table, handle)
