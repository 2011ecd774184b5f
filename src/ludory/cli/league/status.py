"""`ludory league status`: how far a league is, read from its event log alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ludory.cli.common import Flag, FolderArgument, parse
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.algorithms.league.config import LeagueConfig
    from ludory.algorithms.league.log.state import LeagueState

FROZEN = 20
"""Frozen players shown, the newest; `--json` has all."""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Show how far a league is, from its event log; it may be running.

    Example: ludory league status runs/league
    """

    folder: FolderArgument
    """Folder of the league."""
    json: Flag = False
    """Print one JSON object, for programs."""


def status(argv: list[str]) -> int:
    """Print the state of a league; returns the exit code."""
    chosen = parse(_Options, argv, "league status")
    from ludory.algorithms.league.log.summary import league_summary

    found = league_summary(chosen.folder)
    if chosen.json:
        print(json.dumps(found, indent=2))
    else:
        print(_text(found))
    return 0


def status_line(state: LeagueState, config: LeagueConfig) -> str:
    """One line: how far, how fast, who."""
    from ludory.algorithms.league.log.summary import progress, unit

    rate = state.env_steps / state.seconds if state.seconds else 0.0
    done, total = progress(state, config)
    frozen = sum(player.frozen for player in state.players)
    return f"{done:,.0f} of {total:,.0f} {unit(config)}  {rate:,.0f} steps/s  {frozen} frozen players"


def _text(found: dict[str, Any]) -> str:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=100)
    rate = found["steps_per_second"]
    left = found["seconds_left"]
    lines = [
        f"{visible(found['env'])}: {found['done']:,} of {found['budget']:,} {found['unit']}{', closed' if found['closed'] else ''}",
        f"rate {'-' if rate is None else f'{rate:,.0f} agent steps/s'}, time left {'-' if left is None else f'{left / 60:.1f} min'}, "
        f"{found['matches']:,} matches, {found['refused']} refused",
    ]
    players = Table("player", "role", "kind", "agent steps", "copies", "resets", box=None)
    frozen = [player["id"] for player in found["players"] if player["frozen"]]
    left_out = set(frozen[:-FROZEN])
    for player in found["players"]:
        if player["id"] in left_out:
            continue
        kind = "frozen" if player["frozen"] else "anchor" if player["role"] == "anchor" else "learns"
        numbers = (f"{player[name]:,}" for name in ("env_steps", "copies", "resets"))
        players.add_row(*map(visible, (player["id"], player["role"], kind)), *numbers)
    matches = Table("home", "away", "branch", "wins", "draws", "losses", box=None)
    for match in found["last_matches"]:
        matches.add_row(*(visible(match[name]) for name in ("home", "away", "branch", "wins", "draws", "losses")))
    with console.capture() as capture:
        console.print(players)
        if left_out:
            console.print(f"and {len(left_out):,} older frozen players; --json lists all")
        console.print()
        console.print(matches)
    return "\n".join([*lines, "", capture.get().rstrip()])
