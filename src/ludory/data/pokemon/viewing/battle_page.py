"""Logs of Pokémon battles as rows of a table, and `battle_content`: one as the data of a replay page, drawn from what its lines tell.

They may be replays, server logs, saved pages or trajectory files. No simulator is needed.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ludory.data import GameRow, LineTable, Viewer
from ludory.data.pokemon.rejections import Rejection
from ludory.data.pokemon.replays import RecordedBattle, read_battles
from ludory.data.pokemon.trajectories import BattleTrajectory, read_trajectories
from ludory.envs.pictures import plain
from ludory.envs.pokemon.pictures import Board, board_of_tracker, board_svg, board_text, words_of_lines
from ludory.envs.pokemon.tracker import Tracker
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


ACTS = ("move", "switch", "drag", "replace", "cant", "turn")
"""Kinds of lines with which something new begins."""
MOST_POSITIONS = 5_000


def battle_content(log: BattleLog) -> dict[str, Any]:
    """The data of the page, as JSON values: a position after each act of a turn, as the side or the spectator saw it.

    Raises:
        DataError: the battle is not one against one, is longer than pages show, or the file has no lines of it.
    """
    groups = _checked_groups(log)
    players, table = log.players, LineTable()
    return {
        "title": f"{log.format}: {players[0]} against {players[1]}, {_ending(log)}",
        "subtitle": ", ".join(f"{player}: {name}" for player, name in zip(("p1", "p2"), _names(log), strict=True)),
        "about": {"battle": log.id, "format": log.format, "turns": log.turns}
        | {name: value for name, value in log.about.items() if value is not None},
        "views": ["a spectator" if log.seat is None else f"p{log.seat + 1} ({players[log.seat]})"],
        "view": 0,
        "positions": list(_positions(log, groups, table)),
        "speed": 1.0,
        "lines": table.lines,
    }


def battle_texts(log: BattleLog) -> Iterator[tuple[str, str]]:
    """Yield what happened, in words, and the board after it, as coloured text; errors as of `battle_content`."""
    for number, (group, board) in enumerate(_boards(log, _checked_groups(log))):
        yield _said(group, number), board_text(board)


def _checked_groups(log: BattleLog) -> list[list[str]]:
    """The groups of lines that are shown one by one; errors as of `battle_content`."""
    if not log.lines:
        raise DataError(
            f"battle {log.id}: the file holds observations only, which no picture can be drawn from; convert its replay again "
            "with `ludory pokemon convert`, which keeps the lines"
        )
    if log.said("gametype") not in ("", "singles"):
        raise DataError(f"battle {log.id}: got a battle of {log.said('gametype')[:20]}; only singles can be shown")
    groups = list(_groups(log.lines))
    if len(groups) > MOST_POSITIONS:
        raise DataError(f"battle {log.id} has {len(groups):,} acts; pages show at most {MOST_POSITIONS:,}")
    return groups


def _ending(log: BattleLog) -> str:
    winner = log.winner
    return "left before its end" if winner is None else f"{winner} wins" if winner else "a tie"


def _names(log: BattleLog) -> Sequence[str]:
    """Players, with the agents that they are if the recording says it."""
    if log.agents is None:
        return log.players
    return [f"{player} ({agent})" for player, agent in zip(log.players, log.agents, strict=True)]


def _groups(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines before the battle begins, then each act with what follows from it, and the end of each turn."""
    group, begun = list[str](), False
    for line in lines:
        kind = line.split("|", 2)[1] if line.startswith("|") else ""
        new = kind in ACTS or line == "|"
        if new and (words_of_lines(group) or (kind == "switch" and not begun)):
            yield group
            group, begun = [], True
        group.append(line)
    yield group


def _boards(log: BattleLog, groups: Sequence[list[str]]) -> Iterator[tuple[list[str], Board]]:
    """Each group, and the board after it. A spectator knows of each side what its foe does."""
    trackers = [Tracker(log.gen, seat) for seat in ((0, 1) if log.seat is None else (log.seat,))]
    for group in groups:
        for tracker in trackers:
            tracker.feed_all(group)
        board, *other = map(board_of_tracker, trackers)
        yield group, board._replace(near=other[0].far) if other else board


def _positions(log: BattleLog, groups: Sequence[list[str]], table: LineTable) -> Iterator[dict[str, Any]]:
    for number, (group, board) in enumerate(_boards(log, groups)):
        turn = next((line[6:] for line in group if line.startswith("|turn|")), "")
        yield {
            "move": _said(group, number),
            "gain": f"turn {turn}" if turn else "",
            "returns": _left(board),
            "info": {"turn": board.turn, "field": ", ".join(board.field) or "clear"},
            "moment": _moment(group),
            "text": [table.add(plain(board_text(board)))],
            "svg": [table.add(board_svg(board))],
        }


def _said(group: Sequence[str], number: int) -> str:
    """What a group tells, in words."""
    return "; ".join(words_of_lines(group)) or ("start" if number == 0 else "nothing happens")


def _left(board: Board) -> str:
    """Pokémon that stand, or were not seen yet."""
    sides = (board.near, board.far)
    left = [sum(bool(one.name) and not one.fainted for one in side.pokemon) for side in sides]
    return f"{left[0]} against {left[1]} left"


def _moment(group: Sequence[str]) -> str:
    """Who faints or wins; "" if nobody does."""
    told = [line for line in group if line.startswith(("|faint|", "|win|", "|tie"))]
    return ", ".join(words_of_lines(told))


def _battle(file: Path, row: int) -> BattleLog:
    return next(islice(battle_logs(file), row, None))


VIEWER = Viewer(
    "logs of battles",
    shows=is_battle_file,
    rows=battle_rows,
    content=lambda file, row: battle_content(_battle(file, row)),
    texts=lambda file, row: battle_texts(_battle(file, row)),
    counts="turns",
)
