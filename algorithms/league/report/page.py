"""The page of a report: one file that loads nothing, with every chart as SVG and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from ludory.charts.drawing import quoted

from .build import Exploited, LeagueReport, Measured, Relative
from .charts import Figure, FigureTable, cycle_chart, mass_chart, number, payoff_chart, rating_chart
from .payoff_tables import SmallestRate
from .time_charts import branch_chart, curve_charts, family_chart, remembered_chart

T = TypeVar("T")
STYLE = """
body { font: 15px/1.45 sans-serif; color: #1a1a1a; background: #ffffff; max-width: 1060px; margin: 24px auto; padding: 0 16px }
h1 { font-size: 24px } h2 { font-size: 19px; margin: 34px 0 4px } h3 { font-size: 14px; margin: 10px 0 0 }
p { margin: 4px 0 8px; max-width: 860px } svg { max-width: 100%; height: auto; font-family: sans-serif; font-size: 12px; fill: #1a1a1a }
table { border-collapse: collapse; font-size: 13px; margin: 6px 0 } caption { text-align: left }
th, td { border: 1px solid #cccccc; padding: 2px 7px; text-align: left } td + td { font-variant-numeric: tabular-nums }
details { margin: 4px 0 } details > div { overflow-x: auto } summary { cursor: pointer; color: #00527f }
.curves { display: flex; flex-wrap: wrap; gap: 12px } .curves > section { width: 440px }
.warning { border-left: 5px solid #d55e00; padding: 4px 12px; background: #fff4ec }
"""


def report_page(report: LeagueReport) -> str:
    """The HTML document; it loads no other file and runs no script."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{quoted(_title(report))}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(_body(report))
        + "\n</body></html>\n"
    )


def _body(report: LeagueReport) -> Iterator[str]:
    yield f"<h1>{quoted(_title(report))}</h1>"
    for warning in report.warnings:
        yield f"<p class='warning'>{quoted(warning)}</p>"
    yield table_html(_facts(report))
    if report.matrix.games.any():
        for figure in (payoff_chart(report), rating_chart(report), mass_chart(report), cycle_chart(report)):
            yield _section(figure)
    else:
        yield "<p class='warning'>No two players that never change have met yet: there are no ratings.</p>"
    if report.relative:
        yield "<h2>Populations</h2><p>Points of all copies of one role, optimally mixed, against those of another.</p>"
        yield table_html(_populations(report))
    yield (
        "<h2>Exploiters</h2><p>Learners that trained against one target only: the share of points that they then took. A best "
        "response takes at least one half, so only what lies above one half is exploitability.</p>"
    )
    yield table_html(_exploiters(report)) if report.exploited else "<p>- (none was trained)</p>"
    yield _section(remembered_chart(report))
    curves = list(curve_charts(report))
    if curves:
        yield "<h2>Training curves</h2><div class='curves'>"
        yield from (_section(figure, "h3") for figure in curves)
        yield "</div>"
    yield _section(family_chart(report))
    yield _section(branch_chart(report))
    yield "<h2>Players</h2>"
    yield _folded(_players(report), "All players")


def _title(report: LeagueReport) -> str:
    env = report.league.created.get("config", {}).get("env")
    return f"League of {env}" if env else "League"


def _facts(report: LeagueReport) -> FigureTable:
    league, config = report.league, report.league.created.get("config", {})
    frozen = sum(player.frozen for player in league.players)
    anchors = sum(player.role == "anchor" for player in league.players)
    learning = len(league.players) - frozen - anchors
    evaluated = sum(counts.games for counts in league.matrix.values())
    trained = sum(counts.games for counts in league.training.values())
    steps = sum(player.step or 0 for player in league.players if not player.fixed)
    units = {"budget_steps": "agent steps", "minutes": "minutes"}
    budget = [f"{config[key]} {unit}" for key, unit in units.items() if config.get(key)]
    made = report.origin
    rows = [
        ["players", f"{learning} that learn, {frozen} frozen, {anchors} anchors"],
        ["games between fixed players", str(evaluated)],
        ["games of learners", str(trained)],
        ["agent steps of all learners", str(steps)],
        ["budget", ", ".join(budget) or "-"],
        ["seed", str(config.get("seed", "-"))],
        ["time", f"{league.seconds / 60:.1f} minutes, {'finished' if league.closed else 'not finished'}"],
        ["teacher (SHA-256)", str(league.created.get("teacher_sha256", "-"))],
        ["written by", f"Ludory {made.version}, commit {made.commit or '-'}, {made.date or '-'}"],
        ["machine of this report", made.machine or "-"],
    ]
    return FigureTable(["league", ""], rows)


def _populations(report: LeagueReport) -> FigureTable:
    columns: dict[str, Callable[[Relative], str]] = {
        "role": lambda one: one.role,
        "against": lambda one: one.other,
        "relative performance": lambda one: number(one.value, 3),
        "players": lambda one: f"{one.players[0]} and {one.players[1]}",
        "games": lambda one: str(one.games),
    }
    return _table(report.relative, columns)


def _exploiters(report: LeagueReport) -> FigureTable:
    columns: dict[str, Callable[[Exploited], str]] = {
        "target": lambda one: one.target,
        "start": lambda one: one.start,
        "agent steps": lambda one: str(one.env_steps),
        "largest (95 %)": lambda one: f"{one.largest:.3f} ({one.largest_low:.3f} to {one.largest_high:.3f})",
        "exploitability at least (points)": lambda one: (
            f"{100 * (one.largest_low - 0.5):.1f}" if one.largest_low > 0.5 else "-"
        ),
        "mean (95 %)": lambda one: f"{one.mean:.3f} ({one.mean_low:.3f} to {one.mean_high:.3f})",
        "seeds": lambda one: str(one.seeds),
        "games": lambda one: str(one.games),
    }
    return _table(report.exploited, columns)


def _players(report: LeagueReport) -> FigureTable:
    columns: dict[str, Callable[[Measured], str]] = {
        "player": lambda one: one.player.id,
        "role": lambda one: f"frozen {one.player.role}" if one.player.frozen else one.player.role,
        "step": lambda one: "-" if one.player.step is None else str(one.player.step),
        "SHA-256": lambda one: (one.player.sha256 or "-")[:12],
        "rating": lambda one: f"{one.rating.elo:.0f} ± {one.rating.deviation:.0f}" if one.rating else "-",
        "Nash": lambda one: number(one.nash, 3),
        "alpha-rank": lambda one: number(one.alpha_rank, 3),
        "smallest win rate (games)": lambda one: _rate(one.smallest),
        "smallest against anchors (games)": lambda one: _rate(one.smallest_anchor),
        "games": lambda one: str(one.games),
    }
    return _table(report.players, columns)


def _rate(found: SmallestRate | None) -> str:
    return f"{number(found.rate)} against {found.against} ({found.games})" if found else "-"


def _table(rows: Sequence[T], columns: Mapping[str, Callable[[T], str]]) -> FigureTable:
    """A table from a function per column, by its header."""
    return FigureTable(list(columns), [[cell(row) for cell in columns.values()] for row in rows])


def _section(figure: Figure, heading: str = "h2") -> str:
    return (
        f"<section><{heading}>{quoted(figure.title)}</{heading}><p>{quoted(figure.caption)}</p>{figure.svg}"
        f"{_folded(figure.table, f'{figure.title} as a table')}</section>"
    )


def _folded(table: FigureTable, name: str) -> str:
    return f"<details><summary>{quoted(name)}</summary><div>{table_html(table)}</div></details>"


def table_html(table: FigureTable) -> str:
    """The table as HTML."""
    head = "".join(f"<th scope='col'>{quoted(name)}</th>" for name in table.header)
    rows = ("".join(f"<td>{quoted(cell)}</td>" for cell in row) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
