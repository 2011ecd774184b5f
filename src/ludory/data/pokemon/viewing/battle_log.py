"""Logs of Pokémon battles: replays, server logs, saved pages and trajectory files as rows of a table. They need no simulator."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ludory.data import GameRow
from ludory.data.pokemon.rejections import Rejection
from ludory.data.pokemon.replays import RecordedBattle, read_battles
from ludory.data.pokemon.trajectories import BattleTrajectory, read_trajectories
from ludory.errors import DataError

ENDINGS = (".json", ".jsonl", ".gz", ".log", ".html")
BEGINNING = 1 << 16
"""Bytes of a file by which its kind is known."""
_TRAJECTORIES = re.compile(rb'"replay_id"\s*:')
_BATTLES = re.compile(rb'\|player\|p1\||"inputLog"|battle-log-data')


class BattleLog(NamedTuple):
    """The lines of a battle, and who saw them."""

    id: str
    format: str
    """Id of the format, such as gen9ou; empty if the file does not say it."""
    lines: tuple[str, ...]
    """Of the protocol, with the requests of a side if it saw them; empty in files that hold observations only."""
    seat: int | None
    """Side that saw the lines; None: a spectator."""
    agents: tuple[str, str] | None
    """Who played, if the recording says it."""
    about: Mapping[str, Any]
    """Further facts of the file."""

    @property
    def gen(self) -> int:
        """Generation of the rules, 1 to 9.

        Raises:
            DataError: the log does not say it.
        """
        found = self.said("gen") or self.format[3:4]
        if not (found.isdecimal() and 1 <= int(found) <= 9):
            raise DataError(f"battle {self.id}: its generation is {found[:20]!r}, must be 1 to 9")
        return int(found)

    @property
    def players(self) -> tuple[str, str]:
        """Names of the players; p1 and p2 where the log has none."""
        names = ["", ""]
        for line in self.lines:
            parts = line.split("|")
            if len(parts) > 3 and parts[1] == "player" and parts[2] in ("p1", "p2") and parts[3]:
                names[int(parts[2][1]) - 1] = parts[3]
        return names[0] or "p1", names[1] or "p2"

    @property
    def turns(self) -> int:
        """Number of the last turn that began."""
        found = self.said("turn", last=True)
        return int(found) if found.isdecimal() and len(found) < 6 else 0

    @property
    def winner(self) -> str | None:
        """Name of the winner, "" after a tie, None where the log ends before the battle."""
        return next((line[5:] if line.startswith("|win|") else "" for line in self.lines if _is_end(line)), None)

    def said(self, kind: str, last: bool = False) -> str:
        """The first, or last, value of a kind of line; "" if there is none."""
        start = f"|{kind}|"
        lines: Iterator[str] = reversed(self.lines) if last else iter(self.lines)
        return next((line[len(start) :] for line in lines if line.startswith(start)), "")


def _is_end(line: str) -> bool:
    return line.startswith(("|win|", "|tie|")) or line == "|tie"


def is_battle_file(file: Path) -> bool:
    """Whether a file begins like logs of battles or their trajectories."""
    return _kind(file) != ""


def _kind(file: Path) -> str:
    """trajectories, battles or ""."""
    if not file.name.endswith(ENDINGS):
        return ""
    try:
        with gzip.open(file) if file.name.endswith(".gz") else open(file, "rb") as handle:
            start = handle.read(BEGINNING)
    except (OSError, EOFError):
        return ""
    return "trajectories" if _TRAJECTORIES.search(start) else "battles" if _BATTLES.search(start) else ""


def battle_rows(file: Path) -> Iterator[GameRow]:
    """The battles of a file; trajectories are one row for each side. Damaged ones are left out."""
    return map(_row, battle_logs(file))


def _row(log: BattleLog) -> GameRow:
    winner, players = log.winner, log.players
    score = 0.0 if winner not in players else 1.0 if winner == players[0] else -1.0
    name = log.id if log.seat is None else f"{log.id}, p{log.seat + 1}"
    return GameRow(
        0, name, log.format or "?", log.agents or players, (score, 0.0 - score), log.turns, winner is not None
    )


def battle_logs(file: Path) -> Iterator[BattleLog]:
    """Yield the battles of a file."""
    if _kind(file) == "trajectories":
        try:
            for one in read_trajectories(file, skipped=[]):
                yield _log_of_trajectory(one, file.name)
        except DataError:  # no trajectory that can be read
            return
    else:
        for found in read_battles(file):
            if not isinstance(found, Rejection):
                yield _log_of_battle(found, file.name)


def _log_of_battle(battle: RecordedBattle, file: str) -> BattleLog:
    about = {"rating": battle.rating, "day": battle.day or None, "file": file}
    return BattleLog(battle.id, battle.format, battle.lines, None, battle.agents, about)


def _log_of_trajectory(one: BattleTrajectory, file: str) -> BattleLog:
    meta = one.meta
    spectator = not meta or meta.get("mask_source") == "spectator"
    agents = meta.get("agents")
    return BattleLog(
        one.replay_id,
        str(meta.get("format", "")),
        one.stream,
        None if spectator else one.seat,
        _pair(agents),
        {"rating": meta.get("rating"), "day": meta.get("day") or None, "side": one.player, "file": file},
    )


def _pair(agents: Sequence[Any] | None) -> tuple[str, str] | None:
    return (str(agents[0]), str(agents[1])) if isinstance(agents, list) and len(agents) == 2 else None
