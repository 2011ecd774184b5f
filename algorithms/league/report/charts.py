"""Charts of who is how good: payoff heat map, ratings, equilibrium masses, the strongest cycle."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .build import LeagueReport, Measured
from .input import Counts, LeagueInput
from .payoff_tables import score
from .svg import FAINT, FILLS, INK, Figure, Table, dot, on_shade, path, rect, scale, shade, svg, text

SHOWN = 60
"""Most players of a chart; all are in the tables of the folder."""
LABEL, ROW = 190, 18


def number(value: float | None, digits: int = 2) -> str:
    """A number, or "-" for what was not played."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def between(league: LeagueInput, home: str, away: str) -> Counts:
    """Games of two fixed players, for `home`."""
    return league.matrix.get((home, away)) or league.matrix.get((away, home), Counts()).mirrored


def payoff_chart(report: LeagueReport) -> Figure:
    """Who beats whom, sorted by Nash mass, then by rating."""
    ids = [one.player.id for one in report.by_strength()][:SHOWN]
    cell = max(11, min(34, 760 // max(1, len(ids))))
    top, side = 130, LABEL + cell * len(ids)
    parts, rows = [], []
    for row, home in enumerate(ids):
        y = top + cell * row
        parts.append(text(LABEL - 6, y + cell / 2 + 4, home, "end"))
        middle = LABEL + cell * (row + 0.5)
        parts.append(text(middle, top - 6, home, "start", transform=f"rotate(-60 {middle:.1f} {top - 6})"))
        cells = []
        for column, away in enumerate(ids):
            played = score(between(report.league, home, away)) if home != away else None
            games = between(report.league, home, away).games
            x, words = LABEL + cell * column, "-"
            if played:
                words = f"{100 * played.value:.0f}"
                tip = (
                    f"{home} against {away}: {played.value:.3f} ({played.low:.3f} to {played.high:.3f}), {games} games"
                )
                tip += f"; {_shrunk(played.value, games)} with one more draw" if played.value in (0.0, 1.0) else ""
                parts.append(rect(x, y, cell, cell, shade(played.value), tip, stroke="#ffffff"))
            else:
                parts.append(rect(x, y, cell, cell, "none", f"{home} against {away}: no games", stroke=FAINT))
            if cell >= 22 or not played:
                colour = on_shade(played.value) if played else INK
                parts.append(text(x + cell / 2, y + cell / 2 + 4, words, "middle", fill=colour, font_size=11))
            cells.append(_cell(played.value, games) if played else "-")
        rows.append([home, *cells])
    caption = (
        "Points of the row's player against the column's, in per cent: blue wins, orange loses, '-' was not played. "
        "Sorted by Nash mass, then by rating. Pointing at a cell shows its interval. "
        f"{int(report.matrix.games.sum() / 2)} games." + _cut(report, len(ids))
    )
    picture = svg(max(side, 300) + 60, top + cell * len(ids) + 10, "Payoff heat map", parts)
    return Figure("Payoff", caption, picture, Table(["against (games)", *ids], rows))


def _cell(value: float, games: int) -> str:
    shrunk = f"; {_shrunk(value, games)} with one more draw" if value in (0.0, 1.0) else ""
    return f"{100 * value:.0f} ({games}{shrunk})"


def _shrunk(value: float, games: int) -> str:
    """(points + 1/2)/(games + 1)."""
    return f"{(value * games + 0.5) / (games + 1):.3f}"


def rating_chart(report: LeagueReport) -> Figure:
    """Bradley-Terry ratings with their intervals."""
    rated = sorted((one for one in report.players if one.rating), key=lambda one: -one.rating.elo if one.rating else 0)
    shown = rated[:SHOWN]
    ratings = [one.rating for one in shown if one.rating]
    low, high = min((r.low for r in ratings), default=0.0), max((r.high for r in ratings), default=1.0)
    across = scale(low, high, LABEL, 760)
    bottom, parts = 10 + ROW * len(shown), []
    for tick in across.ticks:
        parts.append(path(f"M{across(tick):.1f} 4 V{bottom}", FAINT))
        parts.append(text(across(tick), bottom + 16, f"{tick:g}", "middle"))
    for row, (one, rating) in enumerate(zip(shown, ratings, strict=True)):
        y = 10 + ROW * (row + 0.5)
        tip = f"{one.player.id}: {rating.elo:.0f} ({rating.low:.0f} to {rating.high:.0f}), {one.games} games"
        parts.append(text(LABEL - 8, y + 4, one.player.id, "end"))
        parts.append(path(f"M{across(rating.low):.1f} {y:.1f} H{across(rating.high):.1f}", INK, 2))
        parts.append(dot(across(rating.elo), y, 4.5, FILLS[0] if one.player.frozen else FILLS[1], tip))
        parts.append(text(775, y + 4, f"{rating.elo:.0f}   {one.games} games"))
    rows = [_rating_row(one) for one in rated]
    caption = (
        "Bradley-Terry strengths on the chess scale around 0, with one virtual draw per pair; lines are 95 % intervals that take games "
        "for independent. Blue: frozen players, orange: anchors. One number per player says little where the cyclic share is large."
        + _cut(report, len(shown))
    )
    header = ["player", "rating", "low", "high", "skill (Nash averaging)", "games"]
    return Figure("Ratings", caption, svg(900, bottom + 26, "Ratings with intervals", parts), Table(header, rows))


def _rating_row(one: Measured) -> list[str]:
    rating = one.rating
    numbers = (rating.elo, rating.low, rating.high) if rating else (None, None, None)
    return [one.player.id, *(number(value, 0) for value in numbers), number(one.skill), str(one.games)]


def mass_chart(report: LeagueReport) -> Figure:
    """Mass of each player in the equilibrium and in alpha-rank."""
    known = [one for one in report.by_strength() if one.alpha_rank is not None]
    shown, parts = known[:SHOWN], []
    for side, (title, start) in enumerate((("Nash", LABEL), ("alpha-rank (alpha 10)", LABEL + 340))):
        parts.append(text(start, 14, title, font_weight="bold"))
        masses = [(one.nash if side == 0 else one.alpha_rank) or 0.0 for one in shown]
        for row, (one, mass) in enumerate(zip(shown, masses, strict=True)):
            y = 24 + ROW * row
            if side == 0:
                parts.append(text(LABEL - 8, y + 13, one.player.id, "end"))
            parts.append(rect(start, y + 2, 230 * mass, ROW - 5, FILLS[side], f"{one.player.id}: {mass:.4f}"))
            parts.append(text(start + 230 * mass + 5, y + 13, number(mass, 3)))
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
    height = 34 + ROW * len(shown)
    return Figure("Nash and alpha-rank", caption, svg(900, height, "Nash and alpha-rank", parts), Table(header, rows))


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
        "Below, the three players that beat each other in a circle most clearly."
        if cycle
        else "No three players beat each other in a circle."
    )
    picture = svg(640, 270, "Strongest cycle of three", _triangle(report)) if cycle else ""
    return Figure("Cycles", caption, picture, Table(["measure", "value"], rows))


def _triangle(report: LeagueReport) -> Iterator[str]:
    cycle = report.metagame.cycle if report.metagame else None
    if cycle is None:
        return
    corners = [(320.0, 40.0), (480.0, 220.0), (160.0, 220.0)]
    yield (
        f"<defs><marker id='arrow' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='8' markerHeight='8' orient='auto'>"
        f"<path d='M0 0 L10 5 L0 10 z' fill='{FILLS[0]}'/></marker></defs>"
    )
    for place, ((x, y), rate) in enumerate(zip(corners, cycle.rates, strict=True)):
        to_x, to_y = corners[(place + 1) % 3]
        start = x + 0.14 * (to_x - x), y + 0.14 * (to_y - y)
        end = x + 0.86 * (to_x - x), y + 0.86 * (to_y - y)
        line = f"x1='{start[0]:.1f}' y1='{start[1]:.1f}' x2='{end[0]:.1f}' y2='{end[1]:.1f}'"
        yield f"<line {line} stroke='{FILLS[0]}' stroke-width='{1 + 5 * (rate - 0.5):.1f}' marker-end='url(#arrow)'/>"
        middle_x, middle_y = (x + to_x) / 2, (y + to_y) / 2
        away = (0, 18) if place == 1 else (26, -6) if place == 0 else (-26, -6)
        yield text(middle_x + away[0], middle_y + away[1], f"{100 * rate:.0f} %", "middle")
    for (x, y), name in zip(corners, cycle.players, strict=True):
        yield text(x, y - 12 if y < 100 else y + 22, name, "middle", font_weight="bold")
        yield dot(x, y, 7, INK)


def _cut(report: LeagueReport, shown: int) -> str:
    total = len(report.by_strength())
    return (
        f" The first {shown} of {total} players; the others are in players.parquet and payoff.parquet."
        if total > shown
        else ""
    )
