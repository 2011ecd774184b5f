"""Leagues below a folder, also while they run: what their learners do, and the charts of the report from the games so far."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import quote

from ludory.algorithms.league.log.events import FILE, HEAD
from ludory.algorithms.league.log.summary import league_summary
from ludory.algorithms.league.report.build import LeagueReport, ReportOrigin, make_report, standing
from ludory.algorithms.league.report.charts import Figure, mass_chart, payoff_chart, rating_chart
from ludory.algorithms.league.report.files import report_json
from ludory.algorithms.league.report.input import read_league
from ludory.algorithms.league.report.time_charts import (
    branch_chart,
    curve_charts,
    family_chart,
    rating_history_chart,
    remembered_chart,
)
from ludory.errors import DataError, UnknownIdError
from ludory.paths import path_inside
from ludory.web import ListedRow, Listing, signature, walk

WRITING = 90.0
"""Seconds since the last event, up to which a league counts as running."""
FEW = 30
"""Games of a typical pair, below which a warning says that the table is noise."""


class FoundLeague(NamedTuple):
    """A folder with a league's event log."""

    key: str
    """Path below the folder of runs; its name where that folder is a league itself."""
    folder: Path
    changed: float
    """Time of the last event, in seconds since 1970."""
    below: bool = True
    """False where the folder of runs is the league itself."""

    @property
    def version(self) -> tuple[tuple[str, int, int], ...]:
        """Changes with every event."""
        return signature(self.folder / FILE, self.folder / HEAD, self.folder / "exploiters.json")


class LeagueData(NamedTuple):
    """A league as far as it is: the summary of its log, and its report."""

    summary: dict[str, Any]
    report: LeagueReport


def find_leagues(top: Path | None) -> dict[str, FoundLeague]:
    """The leagues below a folder by their keys, the newest first."""
    found = [
        FoundLeague(folder.key or folder.path.name, folder.path, folder.files[FILE].st_mtime, bool(folder.key))
        for folder in walk(top, frozenset({FILE}))
        if FILE in folder.files
    ]
    return {league.key: league for league in sorted(found, key=lambda one: (-one.changed, one.key))}


def find_league(top: Path | None, key: str) -> FoundLeague:
    """The league of a key.

    Raises:
        UnknownIdError: there is none.
    """
    league = find_leagues(top).get(key)
    if league is None:
        raise UnknownIdError(f"no league {key!r} below the folder of runs; the page of runs lists all that there are")
    return league


def read(league: FoundLeague) -> LeagueData:
    """The league's data; computed once for each state of its log.

    Raises:
        DataError: the log is damaged.
    """
    return _read(str(league.folder), league.version)


@lru_cache(4)
def _read(folder: str, version: tuple[tuple[str, int, int], ...]) -> LeagueData:
    import ludory

    return LeagueData(_summary(folder, version), make_report(read_league(folder), ReportOrigin(ludory.__version__)))


def listing(top: Path | None) -> Listing:
    """The leagues below a folder as a table; a log that cannot be read says why."""
    rows = [_row(league) for league in find_leagues(top).values()]
    return Listing("Leagues", "League", {"Game": str, "Done": str, "Matches": int}, rows)


def _row(league: FoundLeague) -> ListedRow:
    place = (league.key, f"/league/{quote(league.key)}", league.changed)
    try:
        found = _summary(str(league.folder), league.version)
    except DataError as error:
        return ListedRow(*place, problem=str(error))
    done = f"{found['done']:,} of {found['budget']:,} {found['unit']}{', finished' if found['closed'] else ''}"
    return ListedRow(*place, (found["env"], done, found["matches"]), is_running(league, found))


@lru_cache(64)
def _summary(folder: str, version: tuple[tuple[str, int, int], ...]) -> dict[str, Any]:
    return league_summary(folder)


def is_running(league: FoundLeague, summary: dict[str, Any]) -> bool:
    """Whether something happened lately in a league that is not over."""
    return time.time() - league.changed < WRITING and not summary["closed"]


def league_page(top: Path | None, key: str) -> dict[str, Any]:
    """The data of a league's page: `summary` as `ludory league status --json` prints it, `report` as `ludory league report --json`.

    Raises:
        UnknownIdError: there is no such league.
        DataError: its log is damaged.
    """
    league = find_league(top, key)
    data = read(league)
    return {
        "key": league.key,
        "changed": league.changed,
        **{name: data.summary[name] for name in ("env", "closed", "done", "budget", "unit", "matches")},
        "running": is_running(league, data.summary),
        "summary": data.summary,
        "standing": standing(data.report),
        "warnings": warnings(data.report),
        "players": players(league, data.report),
        "report": report_json(data.report),
    }


def warnings(report: LeagueReport) -> list[str]:
    """What is wrong with the league, and whether its pairs have played too little to tell players apart."""
    games = [counts.games for counts in report.league.matrix.values() if counts.games]
    found = list(report.warnings)
    if games and (typical := median(games)) < FEW:
        half = 98 / typical**0.5
        found.insert(
            0,
            f"Few games so far: a typical pair has played {typical:.0f}, which leaves about ±{half:.0f} points of 100 open. "
            "Ratings and Nash masses below are guesses until their intervals are small.",
        )
    return found


def figures(report: LeagueReport) -> dict[str, list[Figure]]:
    """The charts of the page in its sections; what needs games is left out before there are any."""
    found = {"family": [family_chart(report), branch_chart(report)]}
    if report.matrix.games.any():
        found |= {
            "results": [payoff_chart(report)],
            "strength": [
                rating_chart(report),
                rating_history_chart(report),
                mass_chart(report),
                remembered_chart(report),
            ],
        }
    return found | {"curves": list(curve_charts(report))}


def players(league: FoundLeague, report: LeagueReport) -> list[dict[str, Any]]:
    """All players, the newest first; `agent`: what plays as it, if its file is there."""
    found = []
    for one in reversed(report.players):
        player = one.player
        kind = "anchor" if player.role == "anchor" else "frozen" if player.frozen else "learns"
        found.append(
            {
                "id": player.id,
                "role": player.role,
                "kind": kind,
                "parent": player.parent,
                "step": player.step,
                "games": one.games,
                "rating": [one.rating.elo, one.rating.low, one.rating.high] if one.rating else None,
                "nash": one.nash,
                "agent": player.id if kind == "anchor" else _agent(league, player.file),
            }
        )
    return found


def _agent(league: FoundLeague, name: str | None) -> str | None:
    """The path of a player's checkpoint below the folder of runs; None where the log names none inside the league, or it is gone."""
    if name is None:
        return None
    try:
        file = path_inside(league.folder, name, FILE)
    except DataError:
        return None
    below = f"{league.key}/{name}" if league.below else name
    return below if file.exists() else None


def doing(learner: dict[str, Any]) -> str:
    """What a learner does now, in words."""
    against: dict[str, Sequence[str]] = {}
    for match in learner["plays"]:
        against[match["against"]] = (*against.get(match["against"], ()), match["branch"])
    if not against:
        return "waits for its turn"
    named = [f"{id} ({', '.join(dict.fromkeys(branches))})" for id, branches in list(against.items())[:3]]
    more = f" and {len(against) - 3} more" if len(against) > 3 else ""
    return f"plays {', '.join(named)}{more}"
