"""The page of a report: one file that loads nothing, with every chart as SVG and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from ludory.charts import page_style, quoted

from .build import Exploited, LeagueReport, Measured, Relative, standing
from .charts import Figure, FigureTable, cycle_chart, mass_chart, number, payoff_chart, rating_chart
from .payoff_tables import SmallestRate
from .time_charts import branch_chart, curve_charts, family_chart, rating_history_chart, remembered_chart

T = TypeVar("T")
STYLE = """
main, header { max-width: 66rem; margin: 0 auto .8rem } main > p { margin: .3rem 0 } main > .card { padding: .2rem 1.1rem .9rem; margin: 1rem 0; overflow-x: auto }
h2 { padding: .7rem 0 .2rem } h3 { font-size: .94rem; margin: .6rem 0 0 } section p { margin: .2rem 0 .6rem; max-width: 54rem; color: var(--faint) }
svg { display: block; max-width: 100%; height: auto; border-radius: .5rem } details { padding: 0 } details > div { overflow-x: auto }
.curves { display: flex; flex-wrap: wrap; gap: .8rem } .curves > section { width: min(100%, 28rem) }
td { overflow-wrap: anywhere } @media (max-width: 60rem) { main > .card > svg { max-width: none } }
.warning { border-left: .3rem solid #d55e00; padding: .2rem .8rem; background: var(--card) }
"""


def report_page(report: LeagueReport) -> str:
    """The HTML document; it loads no other file and runs no script."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<meta name='color-scheme' content='light dark'><title>{quoted(_title(report))}</title><style>{page_style()}{STYLE}</style></head><body>\n"
        + "\n".join(_body(report))
        + "\n</main></body></html>\n"
    )


def _body(report: LeagueReport) -> Iterator[str]:
    yield f"<header><h1>{quoted(_title(report))}</h1><p>{quoted(standing(report))}</p></header><main>"
    for warning in report.warnings:
        yield f"<p class='warning'>{quoted(warning)}</p>"
    yield f"<section class='card'><h2>This league</h2>{table_html(_facts(report))}</section>"
    if report.matrix.games.any():
        charts = (payoff_chart, rating_chart, rating_history_chart, mass_chart, cycle_chart)
        yield from (_section(chart(report)) for chart in charts)
    else:
        yield "<p class='warning'>No two players that never change have met yet: there are no ratings.</p>"
    if report.relative:
        yield (
            "<section class='card'><h2>Populations</h2><p>Points of all copies of one role, optimally mixed, against those of "
            f"another.</p>{table_html(_populations(report))}</section>"
        )
    yield (
        "<section class='card'><h2>Exploiters</h2><p>Learners that trained against one target only: the share of points that they then took. A best "
        "response takes at least one half, so only what lies above one half is exploitability.</p>"
    )
    yield table_html(_exploiters(report)) if report.exploited else "<p>- (none was trained)</p>"
    yield "</section>"
    yield _section(remembered_chart(report))
    curves = list(curve_charts(report))
    if curves:
        yield "<section class='card'><h2>Training curves</h2><div class='curves'>"
        yield from (_section(figure, "h3") for figure in curves)
        yield "</div></section>"
    yield _section(family_chart(report))
    yield _section(branch_chart(report))
    yield f"<section class='card'><h2>Players</h2>{_folded(_players(report), 'All players')}</section>"


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
    card = " class='card'" if heading == "h2" else ""
    return (
        f"<section{card}><{heading}>{quoted(figure.title)}</{heading}><p>{quoted(figure.caption)}</p>{figure.svg}"
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
