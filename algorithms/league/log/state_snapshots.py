"""The state of a league on disk: now and then a snapshot, so that a long log need not be added up from its beginning."""

from __future__ import annotations

import hashlib
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
    content = state.to_json()
    with atomic_file(folder / f"state-{seq}.json", "w") as handle:
        handle.write(json.dumps({**content, "sha256": _hash(content)}))
    for old in _snapshots(folder)[:-2]:
        (folder / f"state-{old}.json").unlink(missing_ok=True)


def folded(folder: Path, events: Sequence[Event], decay: float) -> LeagueState:
    """The state that `events` (those that stand) add up to, from the newest snapshot that is one of them.

    A snapshot that cannot be read is passed over: the events say the same.
    """
    standing = {event.seq for event in events}
    for seq in reversed(_snapshots(folder)):
        state = _read(folder / f"state-{seq}.json") if seq in standing else None
        if state is not None:
            for event in events:
                if event.seq > seq:
                    state.apply(event)
            return state
    return fold(events, decay)


def _read(file: Path) -> LeagueState | None:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content.pop("sha256", None) not in (None, _hash(content)):  # earlier versions wrote none
            return None
        return LeagueState.from_json(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _snapshots(folder: Path) -> list[int]:
    numbers = (file.stem.partition("-")[2] for file in folder.glob("state-*.json"))
    return sorted(int(number) for number in numbers if number.isdecimal())
