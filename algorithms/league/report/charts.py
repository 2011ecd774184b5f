"""Charts of who is how good: payoff heat map, ratings, equilibrium masses, the strongest cycle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ludory.charts import (
    FAINT,
    FILLS,
    GROUND,
    INK,
    LABEL,
    Axis,
    Cell,
    Dot,
    Drawing,
    Mark,
    Path,
    Rectangle,
    Words,
    as_svg,
    heat_map,
    line,
    linear_axis,
)

from .build import LeagueReport, Measured, NamedCycle
from .input import Counts, LeagueInput
from .payoff_tables import score

SHOWN = 60
"""Most players of a chart; all are in the tables of the folder."""
ROW = 18


class FigureTable(NamedTuple):
    """The numbers of a chart as a table."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figure(NamedTuple):
    """A chart as SVG, what it shows, and its numbers."""

    title: str
    caption: str
    svg: str
    table: FigureTable


def picture(width: float, height: float, title: str, marks: Sequence[Mark]) -> str:
    """The SVG document of a chart."""
    return as_svg(Drawing(width, height, GROUND, title, marks))


def number(value: float | None, digits: int = 2) -> str:
    """A number, or "-" for what was not played."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def between(league: LeagueInput, home: str, away: str) -> Counts:
    """Games of two fixed players, for `home`."""
    return league.matrix.get((home, away)) or league.matrix.get((away, home), Counts()).mirrored


def payoff_chart(report: LeagueReport) -> Figure:
    """Who beats whom, sorted by Nash mass, then by rating."""
    ids = [one.player.id for one in report.by_strength()][:SHOWN]

    def cell(home: str, away: str) -> Cell:
        counts = between(report.league, home, away)
        played = score(counts) if home != away else None
        if not played:
            return Cell(None, f"{home} against {away}: no games")
        tip = f"{home} against {away}: {played.value:.3f} ({played.low:.3f} to {played.high:.3f}), {counts.games} games"
        decided = min(max(0.5, played.low), played.high)  # the end of the interval nearest to one half, or one half
        return Cell(played.value, tip + _shrunk(played.value, counts.games), decided)

    def written(home: str, away: str) -> str:
        rate, games = cell(home, away).rate, between(report.league, home, away).games
        return "-" if rate is None else f"{100 * rate:.0f} ({games}{_shrunk(rate, games)})"

    rows = [[home, *(written(home, away) for away in ids)] for home in ids]
    caption = (
        "Points of the row's player against the column's, in percent: blue wins, orange loses, '-' was not played. "
        "The colour is that of the interval's end nearest to 50: a cell without colour is not decided, however far from 50 its number is. "
        "Sorted by Nash mass, then by rating. Pointing at a cell shows its interval. "
        f"{int(report.matrix.games.sum() / 2)} games." + _cut(report, len(ids))
    )
    table = FigureTable(["against (games)", *ids], rows)
    return Figure("Payoff", caption, heat_map("Payoff heat map", ids, cell), table)


def _shrunk(value: float, games: int) -> str:
    """(points + 1/2)/(games + 1), where all games ended alike."""
    return f"; {(value * games + 0.5) / (games + 1):.3f} with one more draw" if value in (0.0, 1.0) else ""


def rating_chart(report: LeagueReport) -> Figure:
    """Bradley-Terry ratings with their intervals."""
    rated = sorted((one for one in report.players if one.rating), key=lambda one: -one.rating.elo if one.rating else 0)
    shown = rated[:SHOWN]
    ratings = [one.rating for one in shown if one.rating]
    low, high = min((r.low for r in ratings), default=0.0), max((r.high for r in ratings), default=1.0)
    across = linear_axis("", low, high).between(LABEL, 760)
    bottom = 10 + ROW * len(shown)
    marks = vertical_grid(across, 4, bottom)
    for row, (one, rating) in enumerate(zip(shown, ratings, strict=True)):
        y = 10 + ROW * (row + 0.5)
        tip = f"{one.player.id}: {rating.elo:.0f} ({rating.low:.0f} to {rating.high:.0f}), {one.games} games"
        marks.append(Words(LABEL - 8, y + 4, one.player.id, 12, anchor="end"))
        marks.append(line(across(rating.low), y, across(rating.high), y, INK, 2))
        marks.append(Dot(across(rating.elo), y, 4.5, FILLS[0] if one.player.frozen else FILLS[1], tip=tip))
        marks.append(Words(775, y + 4, f"{rating.elo:.0f}   {one.games} games", 12))
    rows = [_rating_row(one) for one in rated]
    caption = (
        "Bradley-Terry strengths on the chess scale around 0, with one virtual draw per pair; lines are 95 % intervals that take games "
        "for independent. Blue: frozen players, orange: anchors. One number per player says little where the cyclic share is large."
        + _cut(report, len(shown))
    )
    header = ["player", "rating", "low", "high", "skill (Nash averaging)", "games"]
    shape = picture(900, bottom + 26, "Ratings with intervals", marks)
    return Figure("Ratings", caption, shape, FigureTable(header, rows))


def vertical_grid(axis: Axis, top: float, bottom: float) -> list[Mark]:
    """A faint line and a number at each tick of a horizontal axis."""
    marks: list[Mark] = []
    for tick in axis.ticks:
        marks.append(line(axis(tick), top, axis(tick), bottom, FAINT))
        marks.append(Words(axis(tick), bottom + 16, f"{tick:g}", 12, anchor="middle"))
    return marks


def _rating_row(one: Measured) -> list[str]:
    rating = one.rating
    numbers = (rating.elo, rating.low, rating.high) if rating else (None, None, None)
    return [one.player.id, *(number(value, 0) for value in numbers), number(one.skill), str(one.games)]


def mass_chart(report: LeagueReport) -> Figure:
    """Mass of each player in the equilibrium and in alpha-rank."""
    known = [one for one in report.by_strength() if one.alpha_rank is not None]
    shown = known[:SHOWN]
    marks: list[Mark] = []
    for side, (title, start) in enumerate((("Nash", LABEL), ("alpha-rank (alpha 10)", LABEL + 340))):
        marks.append(Words(start, 14, title, 12, bold=True))
        masses = [(one.nash if side == 0 else one.alpha_rank) or 0.0 for one in shown]
        for row, (one, mass) in enumerate(zip(shown, masses, strict=True)):
            y = 24 + ROW * row
            if side == 0:
                marks.append(Words(LABEL - 8, y + 13, one.player.id, 12, anchor="end"))
            tip = f"{one.player.id}: {mass:.4f}"
            marks.append(Rectangle(start, y + 2, max(0.0, 230 * mass), ROW - 5, FILLS[side], tip=tip))
            marks.append(Words(start + 230 * mass + 5, y + 13, number(mass, 3), 12))
    rows = [
        [one.player.id, number(one.nash, 4), number(one.alpha_rank, 4), number(one.alpha_rank_1, 4), str(one.games)]
        for one in known
    ]
    games = report.metagame.games if report.metagame else 0
    caption = (
        f"Largest-entropy Nash mixture of the rates minus 1/2, and stationary mass of alpha-rank with 50 individuals, from {games} games."
        + _cut(report, len(shown))
    )
    header = ["player", "Nash", "alpha-rank, alpha 10", "alpha-rank, alpha 1", "games"]
    shape = picture(900, 34 + ROW * len(shown), "Nash and alpha-rank", marks)
    return Figure("Nash and alpha-rank", caption, shape, FigureTable(header, rows))


def cycle_chart(report: LeagueReport) -> Figure:
    """How much of the results goes in circles, and the strongest circle of three."""
    found = report.metagame
    rows = [["cyclic share", number(found and found.cyclic_share, 3)]]
    rows += [["effective diversity", number(found and found.effective_diversity, 4)]]
    rows += [["NashConv of the uniform mixture", number(found and found.nash_conv_uniform, 3)]]
    if found and found.last:
        rows.append([f"NashConv of {found.last}", number(found.nash_conv_last, 3)])
    cycle = found.cycle if found else None
    if cycle:
        for place, (one, rate, games) in enumerate(zip(cycle.players, cycle.rates, cycle.games, strict=True)):
            rows.append([f"{one} beats {cycle.players[(place + 1) % 3]}", f"{rate:.3f} ({games} games)"])
    if found:
        rows.append(["games", str(found.games)])
    share = number(found and found.cyclic_share, 2)
    caption = f"Cyclic share {share}: 0 is an order from best to worst, 1 is rock, paper, scissors. " + (
        "Below, the three players that beat each other in a circle most clearly; each of the three intervals lies above one half."
        if cycle
        else "No three players beat each other in a circle by results whose 95 % intervals lie above one half; "
        "what is left of the share may be noise."
    )
    shape = picture(640, 270, "Strongest cycle of three", list(_triangle(cycle))) if cycle else ""
    return Figure("Cycles", caption, shape, FigureTable(["measure", "value"], rows))


def _triangle(cycle: NamedCycle) -> Iterator[Mark]:
    corners = [(320.0, 40.0), (480.0, 220.0), (160.0, 220.0)]
    for place, ((x, y), rate) in enumerate(zip(corners, cycle.rates, strict=True)):
        to_x, to_y = corners[(place + 1) % 3]
        start, end, width = _along(x, to_x, y, to_y, 0.14), _along(x, to_x, y, to_y, 0.86), 1 + 5 * (rate - 0.5)
        yield Path((start, end), FILLS[0], width)
        yield _arrow_head(start, end, 4 * width)
        away = (0, 18) if place == 1 else (26, -6) if place == 0 else (-26, -6)
        yield Words((x + to_x) / 2 + away[0], (y + to_y) / 2 + away[1], f"{100 * rate:.0f} %", 12, anchor="middle")
    for (x, y), name in zip(corners, cycle.players, strict=True):
        yield Words(x, y - 12 if y < 100 else y + 22, name, 12, anchor="middle", bold=True)
        yield Dot(x, y, 7, INK)


def _along(x: float, to_x: float, y: float, to_y: float, share: float) -> tuple[float, float]:
    return x + share * (to_x - x), y + share * (to_y - y)


def _arrow_head(start: tuple[float, float], end: tuple[float, float], half: float) -> Path:
    """A triangle, twice `half` wide and long, whose point lies at `end`."""
    length = math.dist(start, end)
    x, y = (end[0] - start[0]) / length * half, (end[1] - start[1]) / length * half
    base = end[0] - 2 * x, end[1] - 2 * y
    return Path((end, (base[0] - y, base[1] + x), (base[0] + y, base[1] - x)), fill=FILLS[0])


def _cut(report: LeagueReport, shown: int) -> str:
    total = len(report.by_strength())
    return (
        f" The first {shown} of {total} players; the others are in players.parquet and payoff.parquet."
        if total > shown
        else ""
    )
