"""The page of a report: one file that loads nothing, charts as SVG, every chart also as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ludory.charts.drawing import quoted

from .build import LeagueReport
from .charts import Figure, FigureTable, cycle_chart, mass_chart, number, payoff_chart, rating_chart
from .time_charts import branch_chart, curve_charts, family_chart, remembered_chart

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
    """HTML document; it loads nothing from anywhere and runs no script."""
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
    budget = [
        f"{config[key]} {name}"
        for key, name in (("budget_steps", "agent steps"), ("minutes", "minutes"))
        if config.get(key)
    ]
    rows = [
        ["players", f"{learning} that learn, {frozen} frozen, {anchors} anchors"],
        ["games between fixed players", str(evaluated)],
        ["games of learners", str(trained)],
        ["agent steps of all learners", str(steps)],
        ["budget", ", ".join(budget) or "-"],
        ["seed", str(config.get("seed", "-"))],
        ["time", f"{league.seconds / 60:.1f} minutes, {'finished' if league.closed else 'not finished'}"],
        ["teacher (SHA-256)", str(league.created.get("teacher_sha256", "-"))],
        [
            "written by",
            f"Ludory {report.origin.version}, commit {report.origin.commit or '-'}, {report.origin.date or '-'}",
        ],
        ["machine of this report", report.origin.machine or "-"],
    ]
    return FigureTable(["league", ""], rows)


def _populations(report: LeagueReport) -> FigureTable:
    rows = [
        [one.role, one.other, number(one.value, 3), f"{one.players[0]} and {one.players[1]}", str(one.games)]
        for one in report.relative
    ]
    return FigureTable(["role", "against", "relative performance", "players", "games"], rows)


def _exploiters(report: LeagueReport) -> FigureTable:
    rows = [
        [
            one.target,
            one.start,
            str(one.env_steps),
            f"{one.largest:.3f} ({one.largest_low:.3f} to {one.largest_high:.3f})",
            f"{100 * (one.largest_low - 0.5):.1f}" if one.largest_low > 0.5 else "-",
            f"{one.mean:.3f} ({one.mean_low:.3f} to {one.mean_high:.3f})",
            str(one.seeds),
            str(one.games),
        ]
        for one in report.exploited
    ]
    columns = ["target", "start", "agent steps", "largest (95 %)", "exploitability at least (points)"]
    return FigureTable([*columns, "mean (95 %)", "seeds", "games"], rows)


def _players(report: LeagueReport) -> FigureTable:
    rows = []
    for one in report.players:
        player, rating = one.player, one.rating
        smallest = (
            f"{number(one.smallest.rate)} against {one.smallest.against} ({one.smallest.games})"
            if one.smallest
            else "-"
        )
        anchor = one.smallest_anchor
        least = f"{number(anchor.rate)} against {anchor.against} ({anchor.games})" if anchor else "-"
        rows.append(
            [
                player.id,
                f"frozen {player.role}" if player.frozen else player.role,
                "-" if player.step is None else str(player.step),
                (player.sha256 or "-")[:12],
                f"{rating.elo:.0f} ± {rating.deviation:.0f}" if rating else "-",
                number(one.nash, 3),
                number(one.alpha_rank, 3),
                smallest,
                least,
                str(one.games),
            ]
        )
    header = ["player", "role", "step", "SHA-256", "rating", "Nash", "alpha-rank", "smallest win rate (games)"]
    return FigureTable([*header, "smallest against anchors (games)", "games"], rows)


def _section(figure: Figure, heading: str = "h2") -> str:
    return (
        f"<section><{heading}>{quoted(figure.title)}</{heading}><p>{quoted(figure.caption)}</p>{figure.svg}"
        f"{_folded(figure.table, f'{figure.title} as a table')}</section>"
    )


def _folded(table: FigureTable, name: str) -> str:
    return f"<details><summary>{quoted(name)}</summary><div>{table_html(table)}</div></details>"


def table_html(table: FigureTable) -> str:
    """The table as HTML."""
    head = _cells(table.header, "th scope='col'", "th")
    rows = "".join(f"<tr>{_cells(row, 'td', 'td')}</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(cells: Sequence[str], opening: str, closing: str) -> str:
    return "".join(f"<{opening}>{quoted(cell)}</{closing}>" for cell in cells)
