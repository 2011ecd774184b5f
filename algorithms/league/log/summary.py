"""How far a league is and what its learners do, read from its event log alone; the league may be running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ludory.algorithms.league.config import LeagueConfig, recorded_config

from .events import LeagueEvent, read_events, standing
from .state import LeagueState, fold

LAST = 8
"""Matches shown."""
RECENT = 60.0
"""Seconds before the last event whose matches give the rate of matches."""


def league_summary(folder: str | Path) -> dict[str, Any]:
    """How far the league of a folder is, as JSON values: what `ludory league status --json` prints.

    Raises:
        DataError: there is no league, or its log is damaged.
    """
    events = standing(read_events(folder))
    config = recorded_config(events, Path(folder))
    # Games are most of a long log, and the state of the players does not depend on who won them.
    state = fold([event for event in events if event.type not in ("assigned", "result", "evaluated")], config.decay)
    done, total = progress(state, config)
    rate = state.env_steps / state.seconds if state.seconds and state.env_steps else None
    # in seconds: steps at the rate so far, or the minutes that are left
    left = None if rate is None else (total - done) / rate if config.budget_steps else 60 * (total - done)
    results = [event.body for event in events if event.type == "result"]
    last = results[-LAST:]
    # only the assignments of the matches shown are looked up, from the end: logs have millions of lines
    pairs: dict[int, Any] = {}
    newest = (event.body for event in reversed(events) if event.type == "assigned")
    while any(result["match"] not in pairs for result in last) and (body := next(newest, None)) is not None:
        pairs.setdefault(body["match"], body)
    return {
        "env": config.env,
        "closed": state.closed,
        "done": done,
        "budget": total,
        "unit": unit(config),
        "steps_per_second": rate,
        "seconds_left": None if left is None else max(0.0, left),
        "last_event": events[-1].wall_time,
        "matches": len(results),
        "matches_per_second": _matches_per_second(events),
        "refused": state.refused,
        "last_matches": [
            {name: pairs[result["match"]][name] for name in ("home", "away", "branch")}
            | {name: result["outcome"].count(name[0]) for name in ("wins", "draws", "losses")}
            for result in last
            if result["match"] in pairs
        ],
        "players": [
            {name: getattr(player, name) for name in ("id", "role", "frozen", "env_steps", "copies", "resets")}
            for player in state.players
        ],
        "learners": _learners(events, state),
    }


def _matches_per_second(events: Sequence[LeagueEvent]) -> float | None:
    """Finished matches a second of the last minute in which the league ran; None before there is one."""
    end = events[-1].wall_time
    recent = [event for event in events if event.wall_time > end - RECENT]
    # a pause between two runs is no time of play
    begun = max((event.wall_time for event in recent if event.type == "resumed"), default=recent[0].wall_time)
    finished = sum(event.type == "result" and event.wall_time >= begun for event in recent)
    return finished / (end - begun) if finished and end > begun else None


def _learners(events: Sequence[LeagueEvent], state: LeagueState) -> list[dict[str, Any]]:
    """What each learner does: its progress, and whom it plays in matches without a result."""
    waiting: dict[int, Mapping[str, Any]] = {}
    finished: dict[str, float] = {}
    for event in events:
        if event.type == "assigned":
            waiting[event.body["match"]] = event.body
        elif event.type == "result":
            waiting.pop(event.body["match"], None)
        elif event.type == "reset":
            # a reset drops running games, so their matches never have a result
            waiting = {match: body for match, body in waiting.items() if body["home"] != event.body["player"]}
        elif event.type == "progress":
            finished[event.body["player"]] = event.wall_time
    shown = ("id", "role", "env_steps", "steps_since_snapshot", "copies", "resets")
    return [
        {name: getattr(player, name) for name in shown}
        | {
            "last_slice": finished.get(player.id),
            "plays": [
                {"against": body["away"], "branch": body.get("branch", "unknown")}
                for body in waiting.values()
                if body["home"] == player.id
            ],
        }
        for player in state.learners
    ]


def progress(state: LeagueState, config: LeagueConfig) -> tuple[float, float]:
    """How much of the budget is used, and the budget, in `unit`."""
    return (
        (state.env_steps, config.budget_steps)
        if config.budget_steps
        else (round(state.seconds / 60, 1), config.minutes)
    )


def unit(config: LeagueConfig) -> str:
    """What the budget counts."""
    return "agent steps" if config.budget_steps else "minutes"
