"""Charts of how a league went: forgetting, training curves, family tree, and who was drawn against whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ludory.algorithms.league.matchmaking.opponent_choice import BRANCHES
from ludory.charts import (
    FILLS,
    GROUND,
    INK,
    LABEL,
    STYLES,
    Dot,
    Mark,
    Path,
    Rectangle,
    Words,
    frame,
    legend_entry,
    line,
    linear_axis,
)

from .build import LeagueReport, mean_smallest
from .charts import Figure, FigureTable, number, picture, vertical_grid
from .files import metric_names
from .input import GROUPS, CurvePoint, LeagueInput

PANELS = 12
"""Most curves of a page; all are in curves.parquet."""
_WORDS = ("win_rate", "loss", "kl", "entropy", "clip", "lag", "dropped")
_AGAINST = {
    "win_rate_teacher": "Points against copies of the supervised policy, in each slice.",
    "win_rate_anchors": "Points against anchors, in each slice.",
    "win_rate_past": "Points against the learner's own copies, in each slice.",
}
_MILLION = 1e6
Points = Sequence[tuple[float, float]]


def learners(league: LeagueInput) -> list[str]:
    """Ids of the players that learn, oldest first."""
    return [player.id for player in league.players if not player.fixed]


def remembered_chart(report: LeagueReport) -> Figure:
    """Smallest win rate of each copy against everything older."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in report.remembered:
        lines.setdefault(one.player, []).append((one.step / _MILLION, one.smallest.rate))
    shape = _lines(report.league, lines, "agent steps of the learner (millions)", "smallest win rate", (0.0, 1.0))
    rows = [
        [
            one.id,
            str(one.step),
            number(one.smallest.rate),
            one.smallest.against,
            str(one.smallest.games),
            str(one.games),
        ]
        for one in report.remembered
    ]
    rows += [[f"mean of {player}", "", number(mean), "", "", ""] for player, mean in mean_smallest(report).items()]
    caption = (
        "Each copy's smallest win rate against all frozen players that were older than it: below 0.5 it loses to one of them. "
        "The smallest of many measured rates is biased downwards; the numbers of games are in the table."
    )
    header = ["copy", "step", "smallest", "against", "games against it", "games against all older"]
    return Figure("Forgetting", caption, shape, FigureTable(header, rows))


def rating_history_chart(report: LeagueReport) -> Figure:
    """Ratings of each learner's copies, at the steps when they were made."""
    copies = [one for one in report.players if one.rating and one.player.frozen and one.player.parent]
    lines: dict[str, list[tuple[float, float]]] = {}
    bars: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for one in copies:
        player, rating = one.player, one.rating
        if rating and player.parent:
            lines.setdefault(player.parent, []).append(((player.step or 0) / _MILLION, rating.elo))
            bars.setdefault(player.parent, []).append((rating.low, rating.high))
            rows.append(
                [
                    player.id,
                    str(player.step or 0),
                    *(number(value, 0) for value in (rating.elo, rating.low, rating.high)),
                    str(one.games),
                ]
            )
    shape = _lines(report.league, lines, "agent steps of the learner (millions)", "rating", bars=bars)
    caption = (
        "Bradley-Terry ratings of the copies of each learner, with 95 % intervals. All ratings come from all games played so far, so a copy's "
        "point moves while the league plays. Intervals that overlap do not tell two copies apart."
    )
    header = ["copy", "step", "rating", "low", "high", "games"]
    return Figure("Ratings over time", caption, shape, FigureTable(header, rows))


def curve_charts(report: LeagueReport) -> Iterator[Figure]:
    """One small chart per curve; numbers of the parts of one thing, such as the heads of an action, are shown by their mean."""
    curve = report.league.curve
    families: dict[str, list[str]] = {f"win_rate_{group}": [] for group in GROUPS}
    for name in metric_names(curve):
        # "train/rho/move" is a part of the family "train/rho"
        families.setdefault(name.rpartition("/")[0] if name.count("/") > 1 else name, []).append(name)
    wanted = [family for family in families if any(word in family.lower() for word in _WORDS)]
    charts = (_curve_chart(report, family, families[family]) for family in wanted)
    yield from islice((chart for chart in charts if chart), PANELS)


def _curve_chart(report: LeagueReport, family: str, names: Sequence[str]) -> Figure | None:
    lines: dict[str, list[tuple[float, float]]] = {}
    games = 0
    for point in report.league.curve:
        value, played = _value(point, family, names)
        if value is not None:
            lines.setdefault(point.player, []).append((point.step / _MILLION, value))
            games += played
    if not lines:
        return None
    limits = (0.0, 1.0) if not names else None
    shape = _lines(report.league, lines, "agent steps of the learner (millions)", family, limits, 440, 230)
    rows = [[player, number(points[-1][0], 3), number(points[-1][1], 4)] for player, points in lines.items()]
    caption = _AGAINST.get(family) or (
        "Mean over each slice" + (f" and over {len(names)} parts." if len(names) > 1 else ".")
    )
    caption += f" {games} games." if games else ""
    return Figure(family, caption, shape, FigureTable(["learner", "last step (millions)", "last value"], rows))


def _value(point: CurvePoint, family: str, names: Sequence[str]) -> tuple[float | None, int]:
    for group in GROUPS:
        if family == f"win_rate_{group}":
            counts = point.against.get(group)
            return (counts.score, counts.games) if counts else (None, 0)
    values = [point.metrics[name] for name in names if name in point.metrics]
    return (sum(values) / len(values) if values else None), 0


def family_chart(report: LeagueReport) -> Figure:
    """Copies and new starts of every learner."""
    league, lanes = report.league, learners(report.league)
    end = max([point.step for point in league.curve] + [one.step for one in league.milestones] + [1])
    steps = "agent steps of the learner (millions)"
    across, height = linear_axis(steps, 0, end / _MILLION).between(LABEL, 860), 46 * len(lanes)
    marks = vertical_grid(across, 6, height + 6)
    marks.append(Words((LABEL + 860) / 2, height + 40, steps, 12, anchor="middle"))
    for lane, player in enumerate(lanes):
        y = 6 + 46 * (lane + 0.5)
        marks.append(Words(LABEL - 10, y + 4, player, 12, anchor="end"))
        last = max([point.step for point in league.curve if point.player == player] + [0])
        # up to where the learner is, not to the end of the chart
        marks.append(line(LABEL, y, across(last / _MILLION), y, INK, 1.5))
        for one in league.milestones:
            if one.player != player:
                continue
            x = across(one.step / _MILLION)
            if one.kind == "snapshot":
                tip = f"{one.id} at {one.step} steps: {one.reason or 'no reason given'}"
                marks.append(Dot(x, y, 5, FILLS[0], GROUND, tip))
                marks.append(Words(x, y - 9, (one.id or "").rpartition("@")[2], 10, anchor="middle"))
            else:
                tip = f"{player} starts again at {one.step} steps"
                for side in (-5, 5):
                    marks.append(Path(((x - side, y + 9), (x + side, y + 19)), FILLS[5], 2.5, tip=tip))
    rows = [
        [one.player, one.kind, one.id or "", str(one.step), f"{one.time:.0f}", one.reason or ""]
        for one in league.milestones
    ]
    caption = "Blue dots: copies, with their numbers. Orange crosses: the learner went back to the supervised weights."
    header = ["learner", "event", "copy", "step", "seconds", "reason"]
    shape = picture(900, height + 50, "Family tree of copies", marks)
    return Figure("Family tree", caption, shape, FigureTable(header, rows))


def branch_chart(report: LeagueReport) -> Figure:
    """Share of each learner's games per rule of matchmaking."""
    found, lanes = report.league.branches, learners(report.league)
    names = [name for name in BRANCHES if any(one.branch == name for one in found)]
    # branches of logs that this version does not know come last
    names += sorted({one.branch for one in found} - set(names))
    marks: list[Mark] = []
    rows, legend = [], 0.0
    for place, name in enumerate(names):
        marks.append(Rectangle(LABEL + legend, 4, 14, 12, FILLS[place % len(FILLS)], INK))
        marks.append(Words(LABEL + legend + 19, 14, name, 12))
        legend += 40 + 7.2 * len(name)
    for lane, player in enumerate(lanes):
        own = {one.branch: one for one in found if one.player == player}
        total, x, y = sum(one.games for one in own.values()), float(LABEL), 30 + 30 * lane
        marks.append(Words(LABEL - 10, y + 15, player, 12, anchor="end"))
        marks.append(Words(870, y + 15, f"{total} games" if total else "-", 12))
        for place, name in enumerate(names):
            if name not in own or not total:
                continue
            share = own[name].games / total
            tip = f"{player}, {name}: {own[name].games} of {total} games"
            fill = FILLS[place % len(FILLS)]
            marks.append(Rectangle(x, y, 670 * share, 22, fill, GROUND, tip=tip))
            if share > 0.05:
                color = GROUND if fill == FILLS[0] else INK
                marks.append(Words(x + 335 * share, y + 15, f"{100 * share:.0f} %", 12, color, "middle"))
            x += 670 * share
            meaning = BRANCHES.get(name, "")
            rows.append([player, name, f"{100 * share:.1f} %", str(own[name].matches), str(own[name].games), meaning])
    caption = "Which rule drew the opponents of the games that were finished."
    header = ["learner", "branch", "share of games", "matches", "games", "meaning"]
    shape = picture(980, 40 + 30 * len(lanes), "Share of games per rule of matchmaking", marks)
    return Figure("Matchmaking", caption, shape, FigureTable(header, rows))


def _lines(
    league: LeagueInput,
    lines: Mapping[str, Points],
    across: str,
    upwards: str,
    limits: tuple[float, float] | None = None,
    width: float = 900,
    height: float = 320,
    bars: Mapping[str, Points] | None = None,
) -> str:
    """Lines of learners over (step, value); `bars`: (low, high) of each value."""
    everyone = learners(league)
    lines = {player: lines[player] for player in everyone if player in lines}
    values = [value for points in lines.values() for _, value in points]
    values += [end for player in lines for ends in (bars or {}).get(player, ()) for end in ends]
    low, high = limits or (min(values, default=0.0), max(values, default=1.0))
    end = max((step for points in lines.values() for step, _ in points), default=1.0)
    per_row = max(1, int((width - 60) // 150))
    legend = 16 * -(-max(1, len(lines)) // per_row)
    x = linear_axis(across, 0, end).between(56, width - 14)
    y = linear_axis(upwards, low, high).between(height - 44, legend + 30)
    marks = list(frame(x, y, beside=False, size=12))
    for place, (player, points) in enumerate(lines.items()):
        style = STYLES[everyone.index(player) % len(STYLES)]
        marks.append(Path([(x(step), y(value)) for step, value in points], style[0], 2, style[1]))
        for (step, _), (bottom, top) in zip(points, (bars or {}).get(player, ()), strict=False):
            marks.append(line(x(step), y(bottom), x(step), y(top), style[0], 1.2))
        marks += [Dot(x(step), y(value), 2.5, style[0], tip=f"{player}: {value:.4g}") for step, value in points]
        marks += legend_entry(player, 56 + 150 * (place % per_row), 8 + 16 * (place // per_row), style, 11)
    return picture(width, height, upwards, marks)
