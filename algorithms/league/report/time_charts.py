"""Charts of how a league went: forgetting, training curves, family tree, and who was drawn against whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ludory.algorithms.league.matchmaking.opponent_choice import BRANCHES

from .build import LeagueReport, mean_smallest
from .charts import LABEL, number
from .files import metric_names
from .input import GROUPS, CurvePoint, LeagueInput
from .svg import FAINT, FILLS, INK, STYLES, Figure, Table, dot, frame, path, polyline, rect, scale, svg, text

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
    picture = _lines(report.league, lines, "agent steps of the learner (millions)", "smallest win rate", (0.0, 1.0))
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
    return Figure("Forgetting", caption, picture, Table(header, rows))


def curve_charts(report: LeagueReport) -> Iterator[Figure]:
    """One small chart per curve; numbers of the parts of one thing, such as the heads of an action, are shown by their mean."""
    curve = report.league.curve
    families: dict[str, list[str]] = {f"win_rate_{group}": [] for group in GROUPS}
    for name in metric_names(curve):
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
    picture = _lines(report.league, lines, "agent steps of the learner (millions)", family, limits, 440, 230)
    rows = [[player, number(points[-1][0], 3), number(points[-1][1], 4)] for player, points in lines.items()]
    caption = _AGAINST.get(family) or (
        "Mean over each slice" + (f" and over {len(names)} parts." if len(names) > 1 else ".")
    )
    caption += f" {games} games." if games else ""
    return Figure(family, caption, picture, Table(["learner", "last step (millions)", "last value"], rows))


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
    across = scale(0, end / _MILLION, LABEL, 860)
    height, parts = 46 * len(lanes), []
    for tick in across.ticks:
        parts.append(path(f"M{across(tick):.1f} 6 V{height + 6}", FAINT))
        parts.append(text(across(tick), height + 22, f"{tick:g}", "middle"))
    parts.append(text((LABEL + 860) / 2, height + 40, "agent steps of the learner (millions)", "middle"))
    for lane, player in enumerate(lanes):
        y = 6 + 46 * (lane + 0.5)
        parts.append(text(LABEL - 10, y + 4, player, "end"))
        last = max([point.step for point in league.curve if point.player == player] + [0])
        parts.append(path(f"M{LABEL} {y:.1f} H{across(last / _MILLION):.1f}", INK, 1.5))
        for one in league.milestones:
            if one.player != player:
                continue
            x = across(one.step / _MILLION)
            if one.kind == "snapshot":
                tip = f"{one.id} at {one.step} steps: {one.reason or 'no reason given'}"
                parts.append(dot(x, y, 5, FILLS[0], tip, stroke="#ffffff"))
                parts.append(text(x, y - 9, (one.id or "").rpartition("@")[2], "middle", font_size=10))
            else:
                tip = f"{player} starts anew at {one.step} steps"
                cross = f"M{x - 5:.1f} {y + 9:.1f} l10 10 m0 -10 l-10 10"
                parts.append(path(cross, FILLS[5], 2.5, tip=tip))
    rows = [
        [one.player, one.kind, one.id or "", str(one.step), f"{one.time:.0f}", one.reason or ""]
        for one in league.milestones
    ]
    caption = "Blue dots: copies, with their numbers. Orange crosses: the learner went back to the supervised weights."
    header = ["learner", "event", "copy", "step", "seconds", "reason"]
    return Figure("Family tree", caption, svg(900, height + 50, "Family tree of copies", parts), Table(header, rows))


def branch_chart(report: LeagueReport) -> Figure:
    """Share of each learner's games per rule of matchmaking."""
    found, lanes = report.league.branches, learners(report.league)
    names = [name for name in BRANCHES if any(one.branch == name for one in found)]
    names += sorted({one.branch for one in found} - set(names))
    parts, rows = [], []
    legend = 0.0
    for place, name in enumerate(names):
        parts.append(rect(LABEL + legend, 4, 14, 12, FILLS[place % len(FILLS)], stroke=INK))
        parts.append(text(LABEL + legend + 19, 14, name))
        legend += 40 + 7.2 * len(name)
    for lane, player in enumerate(lanes):
        own = {one.branch: one for one in found if one.player == player}
        total, x, y = sum(one.games for one in own.values()), float(LABEL), 30 + 30 * lane
        parts.append(text(LABEL - 10, y + 15, player, "end"))
        parts.append(text(870, y + 15, f"{total} games" if total else "-"))
        for place, name in enumerate(names):
            if name not in own or not total:
                continue
            share = own[name].games / total
            tip = f"{player}, {name}: {own[name].games} of {total} games"
            parts.append(rect(x, y, 670 * share, 22, FILLS[place % len(FILLS)], tip, stroke="#ffffff"))
            if share > 0.05:
                colour = "#ffffff" if FILLS[place % len(FILLS)] == FILLS[0] else INK
                parts.append(text(x + 335 * share, y + 15, f"{100 * share:.0f} %", "middle", fill=colour))
            x += 670 * share
            meaning = BRANCHES.get(name, "")
            rows.append([player, name, f"{100 * share:.1f} %", str(own[name].matches), str(own[name].games), meaning])
    caption = "Which rule drew the opponents of the games that were finished."
    header = ["learner", "branch", "share of games", "matches", "games", "meaning"]
    picture = svg(980, 40 + 30 * len(lanes), "Share of games per rule of matchmaking", parts)
    return Figure("Matchmaking", caption, picture, Table(header, rows))


def _lines(
    league: LeagueInput,
    lines: Mapping[str, Points],
    across: str,
    upwards: str,
    limits: tuple[float, float] | None = None,
    width: float = 900,
    height: float = 320,
) -> str:
    everyone = learners(league)
    lines = {player: lines[player] for player in everyone if player in lines}
    values = [value for points in lines.values() for _, value in points]
    low, high = limits or (min(values, default=0.0), max(values, default=1.0))
    end = max((step for points in lines.values() for step, _ in points), default=1.0)
    per_row = max(1, int((width - 60) // 150))
    legend = 16 * -(-max(1, len(lines)) // per_row)
    x, y = scale(0, end, 56, width - 14), scale(low, high, height - 44, legend + 30)
    parts = list(frame(x, y, across, upwards))
    for place, (player, points) in enumerate(lines.items()):
        colour, dashes = STYLES[everyone.index(player) % len(STYLES)]
        parts.append(polyline([(x(step), y(value)) for step, value in points], colour, dashes))
        parts += [dot(x(step), y(value), 2.5, colour, f"{player}: {value:.4g}") for step, value in points]
        left, top = 56 + 150 * (place % per_row), 12 + 16 * (place // per_row)
        parts.append(path(f"M{left} {top - 4} h22", colour, 2.5, dashes))
        parts.append(text(left + 27, top, player, font_size=11))
    return svg(width, height, upwards, parts)
