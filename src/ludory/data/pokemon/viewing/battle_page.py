"""`battle_content`: a log of a Pokémon battle as the data of a replay page, drawn from what its lines tell; no simulator is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ludory.data import LineTable, Viewer
from ludory.envs.pictures import plain
from ludory.envs.pokemon.pictures import Board, board_of_tracker, board_svg, board_text, words_of_lines
from ludory.envs.pokemon.tracker import Tracker
from ludory.errors import DataError

from .battle_log import BattleLog, battle_logs, battle_rows, is_battle_file

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
