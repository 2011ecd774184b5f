"""`ludory league status`: how far a league is, read from its event log alone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludory.algorithms.league.config import LeagueConfig
    from ludory.algorithms.league.events import Event
    from ludory.algorithms.league.state import LeagueState

LAST = 8
"""Matches shown."""


def status(argv: list[str]) -> int:
    """Print the state of a league; gives the exit code."""
    parser = argparse.ArgumentParser(prog="ludory league status", description="How far a league is.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="for programs")
    arguments = parser.parse_args(argv)
    from ludory.algorithms.league.events import read_events, standing
    from ludory.algorithms.league.recorded import recorded_config
    from ludory.algorithms.league.state import fold

    events = standing(read_events(arguments.folder))
    config = recorded_config(events, arguments.folder)
    state = fold(events, config.decay)
    found = _summary(events, state, config)
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        print(_text(found))
    return 0


def status_line(state: LeagueState, config: LeagueConfig) -> str:
    """One line: how far, how fast, who."""
    rate = state.env_steps / state.seconds if state.seconds else 0.0
    done, total = _done(state, config)
    frozen = sum(player.frozen for player in state.players)
    return f"{done:,.0f} of {total:,.0f} {_unit(config)}  {rate:,.0f} steps/s  {frozen} frozen players"


def _done(state: LeagueState, config: LeagueConfig) -> tuple[float, float]:
    return (
        (state.env_steps, config.budget_steps)
        if config.budget_steps
        else (round(state.seconds / 60, 1), config.minutes)
    )


def _unit(config: LeagueConfig) -> str:
    return "agent steps" if config.budget_steps else "minutes"


def _summary(events: Sequence[Event], state: LeagueState, config: LeagueConfig) -> dict[str, Any]:
    done, total = _done(state, config)
    rate = state.env_steps / state.seconds if state.seconds and state.env_steps else None
    left = None if rate is None else (total - done) / rate if config.budget_steps else 60 * (total - done)
    pairs = {event.body["match"]: event.body for event in events if event.type == "assigned"}
    results = [event.body for event in events if event.type == "result"][-LAST:]
    return {
        "env": config.env,
        "closed": state.closed,
        "done": done,
        "budget": total,
        "unit": _unit(config),
        "steps_per_second": rate,
        "seconds_left": None if left is None else max(0.0, left),
        "last_event": events[-1].wall_time,
        "matches": sum(event.type == "result" for event in events),
        "refused": state.refused,
        "last_matches": [
            {
                "home": pairs[result["match"]]["home"],
                "away": pairs[result["match"]]["away"],
                "branch": pairs[result["match"]]["branch"],
                **{name: result["outcome"].count(name[0]) for name in ("wins", "draws", "losses")},
            }
            for result in results
        ],
        "players": [
            {
                "id": player.id,
                "role": player.role,
                "frozen": player.frozen,
                "env_steps": player.env_steps,
                "copies": player.copies,
                "resets": player.resets,
            }
            for player in state.players
        ],
    }


def _text(found: dict[str, Any]) -> str:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=100)
    rate = found["steps_per_second"]
    left = found["seconds_left"]
    lines = [
        f"{found['env']}: {found['done']:,} of {found['budget']:,} {found['unit']}{', closed' if found['closed'] else ''}",
        f"rate {'-' if rate is None else f'{rate:,.0f} agent steps/s'}, time left {'-' if left is None else f'{left / 60:.1f} min'}, "
        f"{found['matches']:,} matches, {found['refused']} refused",
    ]
    players = Table("player", "role", "kind", "agent steps", "copies", "resets", box=None)
    for player in found["players"]:
        kind = "frozen" if player["frozen"] else "anchor" if player["role"] == "anchor" else "learns"
        numbers = (f"{player[name]:,}" for name in ("env_steps", "copies", "resets"))
        players.add_row(player["id"], player["role"], kind, *numbers)
    matches = Table("home", "away", "branch", "wins", "draws", "losses", box=None)
    for match in found["last_matches"]:
        matches.add_row(*(str(match[name]) for name in ("home", "away", "branch", "wins", "draws", "losses")))
    with console.capture() as capture:
        console.print(players)
        console.print()
        console.print(matches)
    return "\n".join([*lines, "", capture.get().rstrip()])
