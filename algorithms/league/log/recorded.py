"""The config of a league as its log has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from ludory.algorithms.league.config import LeagueConfig
from ludory.errors import DataError

from .events import FILE, Event

TEACHER, START = "teacher.ludory", "start.ludory"
"""Copies in the league's folder of the supervised policy, and of what learners begin with."""


def recorded_config(events: Sequence[Event], folder: Path) -> LeagueConfig:
    """What the first event says, with the budget that was given last.

    Args:
        events: those that stand.
        folder: of the league.

    Raises:
        DataError: the log does not begin with a config.
    """
    budgets = [event.body["budget"] for event in events if event.type == "resumed" and event.body.get("budget")]
    try:
        config = LeagueConfig.from_json(events[0].body["config"] | (budgets[-1] if budgets else {}))
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{folder / FILE}, line 1: not the config of a league ({error!r}); put the old file back"
        ) from error
    return with_copies(config, folder)


def with_copies(config: LeagueConfig, folder: Path) -> LeagueConfig:
    """`config` with the copies of teacher and start that lie in `folder`."""
    teacher = str(folder / TEACHER) if config.teacher else None
    start = str(folder / START) if config.init_from else None
    return dataclasses.replace(config, teacher=teacher, init_from=start)
