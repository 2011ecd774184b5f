"""`LeagueState`: the sum of the event log; it changes by events only.

Now and then a snapshot of the state is written, so that a long log need not be read from its beginning.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludory.algorithms.league.matchmaking.payoff import Payoff
from ludory.atomic import atomic_file
from ludory.errors import DataError
from ludory.reading import read_json

from .events import LeagueEvent, Reducer

NAMED = 20
"""Most players that an error names."""
EVERY = 1000
"""Events between two snapshots of the state."""


@dataclass(slots=True)
class PlayerRecord:
    """One player: a learner, a frozen copy of one, or an anchor."""

    id: str
    role: str
    """"main", "main_exploiter", "league_exploiter" (of a frozen player its parent's) or "anchor"."""
    frozen: bool = False
    parent: str | None = None
    file: str | None = None
    """Of a frozen player its weights, of a learner its last checkpoint; relative to the league's folder."""
    sha256: str | None = None
    env_steps: int = 0
    """Decisions since the league began, resets included."""
    steps_since_snapshot: int = 0
    updates: int = 0
    copies: int = 0
    """Frozen copies made so far."""
    resets: int = 0


@dataclass(slots=True)
class LeagueState(Reducer):
    """Players in order of age, results and open matches."""

    decay: float
    players: list[PlayerRecord] = field(default_factory=list)
    payoff: Payoff = field(init=False)
    """Decayed games of pairs with a learning player."""
    matrix: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """[wins, draws, losses] of pairs of players that never change, for the first of the pair."""
    blocks: dict[tuple[str, str], int] = field(default_factory=dict)
    """Evaluation blocks played of a pair."""
    open_matches: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Home and away of matches without a result."""
    next_match: int = 0
    matches: int = 0
    """Training matches that ended."""
    turn: int = 0
    """Slices finished."""
    seconds: float = 0.0
    """Running time without pauses."""
    snapshots: int = 0
    refused: int = 0
    closed: bool = False
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)
    """Places of players by id."""

    def __post_init__(self) -> None:
        self.payoff = Payoff(0, self.decay)
        self._numbers = {}
        for number, player in enumerate(self.players):
            self._numbers.setdefault(player.id, number)

    def number(self, id: str) -> int:
        """Index of a player in `players` and in the payoff table.

        Raises:
            DataError: there is no player of this id.
        """
        number = self._numbers.get(id)
        if number is None:
            known = [player.id for player in self.players]
            some = ", ".join(known[:NAMED]) + (f" and {len(known) - NAMED} more" if len(known) > NAMED else "")
            raise DataError(f"the league has no player {id!r}; it has {some}")
        return number

    def player(self, id: str) -> PlayerRecord:
        """The player called `id`."""
        return self.players[self.number(id)]

    @property
    def learners(self) -> list[PlayerRecord]:
        """Learning players, in order of their turns."""
        return [player for player in self.players if not player.frozen and player.role != "anchor"]

    @property
    def fixed(self) -> list[PlayerRecord]:
        """Frozen players and anchors, which never change."""
        return [player for player in self.players if player.frozen or player.role == "anchor"]

    @property
    def kinship(self) -> tuple[list[str], list[bool], list[int]]:
        """Role, whether frozen, and number of the parent (-1: none) of every player, for matchmaking."""
        players = self.players
        parents = [-1 if player.parent is None else self.number(player.parent) for player in players]
        return [player.role for player in players], [player.frozen for player in players], parents

    @property
    def env_steps(self) -> int:
        """Decisions of all learners together."""
        return sum(player.env_steps for player in self.learners)

    def _on_player_added(
        self,
        id: str,
        role: str,
        frozen: bool = False,
        parent: str | None = None,
        file: str | None = None,
        sha256: str | None = None,
        **_: Any,
    ) -> None:
        self._add(PlayerRecord(id, role, frozen, parent, file, sha256))

    def _add(self, player: PlayerRecord) -> None:
        self._numbers.setdefault(player.id, self.payoff.grow())
        self.players.append(player)

    def _on_assigned(self, match: int, home: str, away: str, **_: Any) -> None:
        self.open_matches[match] = home, away
        self.next_match = max(self.next_match, match + 1)

    def _on_result(self, match: int, outcome: str, source: str = "training", counted: bool = True, **_: Any) -> None:
        home, away = self.open_matches.pop(match)
        self.matches += 1
        if counted:
            self._count(home, away, outcome)

    def _count(self, home: str, away: str, outcomes: str) -> None:
        self.payoff.add_games(self.number(home), self.number(away), outcomes)

    def _on_refused(self, **_: Any) -> None:
        self.refused += 1

    def _on_progress(self, player: str, env_steps: int, updates: int, **_: Any) -> None:
        found = self.player(player)
        found.steps_since_snapshot += env_steps - found.env_steps
        found.env_steps, found.updates = env_steps, updates
        self.turn += 1
        self.closed = False

    def _on_committed(self, seconds: float, **_: Any) -> None:
        self.seconds += seconds

    def _on_resumed(self, games: str = "", **_: Any) -> None:
        if games == "new":  # the running games of open matches could not be saved
            self.open_matches = {}

    def _on_snapshot(self, player: str, id: str, file: str, sha256: str, **_: Any) -> None:
        parent = self.player(player)
        parent.copies, parent.steps_since_snapshot = parent.copies + 1, 0
        self.snapshots += 1
        self._add(PlayerRecord(id, parent.role, True, player, file, sha256, parent.env_steps, 0, parent.updates))

    def _on_reset(self, player: str, **_: Any) -> None:
        found = self.player(player)
        found.steps_since_snapshot, found.resets = 0, found.resets + 1
        self.payoff.reset(self.number(player))
        self.open_matches = {match: pair for match, pair in self.open_matches.items() if pair[0] != player}

    def _on_evaluated(
        self, i: str, j: str, block: int, wins: int, draws: int, losses: int, outcomes: str = "", **_: Any
    ) -> None:
        self.blocks[i, j] = block + 1
        if outcomes:  # a side still learns
            self._count(i, j, outcomes)
            return
        counts = self.matrix.setdefault((i, j), [0, 0, 0])
        counts[:] = (old + new for old, new in zip(counts, (wins, draws, losses), strict=True))

    def _on_checkpoint(self, player: str, file: str, sha256: str, **_: Any) -> None:
        found = self.player(player)
        found.file, found.sha256 = file, sha256

    def _on_closed(self, **_: Any) -> None:
        self.closed = True

    def to_json(self) -> dict[str, Any]:
        """The state as JSON; `from_json` reads it."""
        content = {
            part.name: getattr(self, part.name)
            for part in dataclasses.fields(self)
            if part.name not in ("players", "payoff", "matrix", "blocks", "open_matches", "_numbers")
        }
        return content | {
            "players": [dataclasses.asdict(player) for player in self.players],
            "payoff": self.payoff.to_json(),
            "matrix": [[*pair, *counts] for pair, counts in self.matrix.items()],
            "blocks": [[*pair, count] for pair, count in self.blocks.items()],
            "open_matches": [[match, *pair] for match, pair in self.open_matches.items()],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> LeagueState:
        """The state that `to_json` described."""
        parts = dict(content)
        payoff = Payoff.from_json(parts.pop("payoff"))
        parts["players"] = [PlayerRecord(**player) for player in parts["players"]]
        parts["matrix"] = {(i, j): counts for i, j, *counts in parts["matrix"]}
        parts["blocks"] = {(i, j): count for i, j, count in parts["blocks"]}
        parts["open_matches"] = {match: (home, away) for match, home, away in parts["open_matches"]}
        parts.setdefault("matches", parts["next_match"] - len(parts["open_matches"]))  # earlier versions did not count
        state = cls(**parts)
        state.payoff = payoff
        return state


def fold(events: Iterable[LeagueEvent], decay: float) -> LeagueState:
    """The state after `events` (those of `standing` for a log with resumes)."""
    state = LeagueState(decay)
    for event in events:
        state.apply(event)
    return state


def write_state(folder: Path, state: LeagueState, seq: int) -> None:
    """Write a snapshot of `state`, which has all events up to `seq`, if the last snapshot is `EVERY` events old."""
    last = max(_snapshots(folder), default=-1)
    if seq - last < EVERY:
        return
    content = state.to_json()
    with atomic_file(folder / f"state-{seq}.json", "w") as handle:
        handle.write(json.dumps({**content, "sha256": _hash(content)}))
    for old in _snapshots(folder)[:-2]:
        (folder / f"state-{old}.json").unlink(missing_ok=True)


def load_state(folder: Path, events: Sequence[LeagueEvent], decay: float) -> LeagueState:
    """The state after `events` (those of `standing`), from the newest snapshot that belongs to them.

    A snapshot that cannot be read is skipped: the events say the same.
    """
    standing = {event.seq for event in events}
    for seq in reversed(_snapshots(folder)):
        state = _read_snapshot(folder / f"state-{seq}.json") if seq in standing else None
        if state is not None:
            for event in events:
                if event.seq > seq:
                    state.apply(event)
            return state
    return fold(events, decay)


def newest_state(folder: Path) -> int | None:
    """Number of the last event in the newest snapshot of the state that can be read; None if there is none."""
    readable = (seq for seq in reversed(_snapshots(folder)) if _read_snapshot(folder / f"state-{seq}.json") is not None)
    return next(readable, None)


def _read_snapshot(file: Path) -> LeagueState | None:
    try:
        content = read_json(file)
        if content.pop("sha256", None) not in (None, _hash(content)):  # earlier versions wrote none
            return None
        return LeagueState.from_json(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _snapshots(folder: Path) -> list[int]:
    numbers = (file.stem.partition("-")[2] for file in folder.glob("state-*.json"))
    return sorted(int(number) for number in numbers if number.isdecimal())
