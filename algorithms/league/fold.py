"""The state of a league on disk: now and then a snapshot, so that a long log need not be added up from its beginning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ludory.atomic import atomic_file

from .events import Event
from .state import LeagueState, fold

EVERY = 1000
"""Events between two snapshots."""


def write_state(folder: Path, state: LeagueState, seq: int) -> None:
    """Write `state`, the fold of all events up to `seq`, if the last snapshot is `EVERY` events old."""
    last = max(_snapshots(folder), default=-1)
    if seq - last < EVERY:
        return
    with atomic_file(folder / f"state-{seq}.json", "w") as handle:
        json.dump(state.to_json(), handle)
    for old in _snapshots(folder)[:-2]:
        (folder / f"state-{old}.json").unlink(missing_ok=True)


def folded(folder: Path, events: Sequence[Event], decay: float) -> LeagueState:
    """The state that `events` (those that stand) add up to, from the newest snapshot that is one of them."""
    standing = {event.seq for event in events}
    for seq in reversed(_snapshots(folder)):
        if seq in standing:
            state = LeagueState.from_json(json.loads((folder / f"state-{seq}.json").read_text(encoding="utf-8")))
            for event in events:
                if event.seq > seq:
                    state.apply(event)
            return state
    return fold(events, decay)


def _snapshots(folder: Path) -> list[int]:
    return sorted(int(file.stem.partition("-")[2]) for file in folder.glob("state-*.json"))
