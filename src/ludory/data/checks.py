"""Checks of recorded decisions on whole arrays; they find the first bad row of every field in every game."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ludory.envs.make import make_game
from ludory.errors import LudoryError

from .columns import UNKNOWN_SEED, USED, WEIGHT, Columns, game_starts, required_columns
from .header import TrajectoryHeader

Flags = NDArray[np.bool_]


class Problem(NamedTuple):
    """Something wrong in a file."""

    file: str
    row: int | None
    """Row of the file, counted from 0; None: the whole file."""
    field: str
    got: str
    allowed: str

    def __str__(self) -> str:
        """One line that names file, row and field."""
        place = "" if self.row is None else f", row {self.row}"
        return f"{self.file}{place}, field {self.field!r}: got {self.got}, must be {self.allowed}"


class WrongRows(NamedTuple):
    """Result of a check: the rows (m,) bool in which `field` is wrong, what such a row holds, and what it may hold."""

    field: str
    rows: Flags
    got: Any
    """Called with a row; returns what it holds."""
    allowed: Any
    """Called with a row; returns what it may hold."""


def find_problems(
    columns: Columns, header: TrajectoryHeader, table: pa.Table | None, file: str, first_row: int
) -> tuple[list[Problem], Flags]:
    """Find the problems of whole games; returns them, and which games (in their order in the file) have one.

    Args:
        columns: the rows.
        header: that the rows must fit.
        table: the same rows as read from the file, to find missing values.
        file: named in problems.
        first_row: row of the file that the columns begin with.
    """
    starts = game_starts(columns.games)
    # for each row the place of its game in the file
    game_of_row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(columns.games))))
    bad, problems = np.zeros(len(starts), bool), []
    for fault in _faults(columns, header, table, game_of_row):
        rows = np.flatnonzero(fault.rows)
        # the first bad row of each field in each game: more of them would say the same
        games, first = np.unique(game_of_row[rows], return_index=True)
        bad[games] = True
        problems += [
            Problem(file, first_row + int(row), fault.field, str(fault.got(row)), str(fault.allowed(row)))
            for row in rows[first]
        ]
    return sorted(problems, key=lambda one: one.row or 0), bad


def _faults(
    columns: Columns, header: TrajectoryHeader, table: pa.Table | None, game_of_row: NDArray[np.int64]
) -> Iterator[WrongRows]:
    if table is not None:
        yield from _missing(table, header)
    yield from _wrong_actions(columns, header)
    yield from _wrong_numbers(columns)
    yield from _wrong_rewards(columns, header, game_of_row)
    yield from _wrong_order(columns, header, game_of_row)


def _missing(table: pa.Table, header: TrajectoryHeader) -> Iterator[WrongRows]:
    for name in required_columns(header):
        column = table.column(name)
        if column.null_count:
            yield _constant(name, np.asarray(column.is_null()), "null", "a value")
    if USED in table.column_names:
        column = table.column(USED).combine_chunks()
        if column.null_count or column.flatten().null_count:
            rows = np.array([row is None or None in row for row in column.to_pylist()])
            yield _constant(USED, rows, "null", "true or false for each head")


def _constant(field: str, rows: Flags, got: str, allowed: str) -> WrongRows:
    return WrongRows(field, rows, lambda row: got, lambda row: allowed)


def _wrong_actions(columns: Columns, header: TrajectoryHeader) -> Iterator[WrongRows]:
    """Actions out of range or not legal, and masks that leave a head without a value."""
    legal = np.unpackbits(columns.masks, axis=1, count=header.num_actions).view(bool)
    every, start = np.arange(len(legal)), 0
    for head, (name, size) in enumerate(header.heads):
        part, chosen = legal[:, start : start + size], columns.actions[:, head]
        start += size
        inside = (chosen >= 0) & (chosen < size)
        some = np.asarray(part.any(axis=1))
        yield _constant(
            "mask", ~some, "no legal value" + _of_head(name, header), "a mask with a legal value in each head"
        )
        # an action out of range must not index the mask; `inside` has it refused all the same
        allowed: Flags = part[every, np.where(inside, chosen, 0)] & inside
        yield WrongRows(
            f"action_{name}",
            ~allowed & some,
            lambda row, chosen=chosen: chosen[row],
            lambda row, part=part: f"legal: {_listed(np.flatnonzero(part[row]))}",
        )


def _of_head(name: str, header: TrajectoryHeader) -> str:
    return f" of head {name!r}" if len(header.heads) > 1 else ""


def _listed(values: NDArray[np.int64], most: int = 20) -> str:
    return ", ".join(map(str, values[:most])) + (", ..." if len(values) > most else "")


def _wrong_numbers(columns: Columns) -> Iterator[WrongRows]:
    yield WrongRows("reward", ~np.isfinite(columns.rewards), lambda row: columns.rewards[row], lambda row: "finite")
    if columns.observations.dtype == np.float32:
        finite = np.asarray(np.isfinite(columns.observations))
        if not finite.all():
            where = finite.argmin(1)
            yield WrongRows(
                "observation",
                ~np.asarray(finite.all(axis=1)),
                lambda row: f"{columns.observations[row, where[row]]} at entry {where[row]}",
                lambda row: "finite",
            )
    known = ~np.isnan(columns.log_probs)
    # log-probabilities a little above 0 come from rounding
    wrong = known & ~((columns.log_probs <= 1e-5) & np.isfinite(columns.log_probs))
    yield WrongRows(
        "log_prob",
        np.asarray(wrong.any(axis=1)),
        lambda row: columns.log_probs[row].tolist(),
        lambda row: "finite and at most 0, or null",
    )
    if WEIGHT.name in columns.extras:
        weights = columns.extras[WEIGHT.name]
        yield WrongRows(
            WEIGHT.name,
            ~(np.isfinite(weights) & (weights >= 0)),
            lambda row: weights[row],
            lambda row: "finite and at least 0",
        )


def _wrong_rewards(columns: Columns, header: TrajectoryHeader, game_of_row: NDArray[np.int64]) -> Iterator[WrongRows]:
    """Rewards, and sums of a seat's rewards, beyond the bounds of the game, if the game is installed."""
    most = _most_reward(header.game, json.dumps(dict(header.options), default=str), header.head_sizes, header.players)
    if most is None:
        return
    allowed = f"-{most:g}..{most:g}, what {header.game} can give"
    rewards = columns.rewards.astype(np.float64)
    large = np.isfinite(rewards) & (np.abs(rewards) > most)
    yield WrongRows("reward", large, lambda row: columns.rewards[row], lambda row: allowed)
    order, first = seat_order(columns, header.players, game_of_row)
    # sums over the sequences of one seat in one game, which `order` makes consecutive
    totals = np.add.reduceat(np.where(np.isfinite(rewards), rewards, 0)[order], np.flatnonzero(first))
    sequence = np.empty(len(order), np.int64)
    sequence[order] = np.cumsum(first) - 1
    beyond = np.abs(totals)[sequence] > most
    yield WrongRows(
        # a single reward that is too large has been told already
        "reward",
        beyond & ~large,
        lambda row: f"{totals[sequence[row]]:g} in all for the seat",
        lambda row: allowed,
    )


@lru_cache(maxsize=64)
def _most_reward(game: str, options: str, head_sizes: tuple[int, ...], players: int) -> float | None:
    """Largest absolute reward, and sum of rewards, of a game; None if the game is not installed."""
    try:
        facts = make_game(game, **json.loads(options)).facts
    except (LudoryError, TypeError, ValueError):
        return None
    # a game of the same id with other heads is another one: its bounds say nothing
    if (facts.head_sizes, facts.players) != (head_sizes, players):
        return None
    low, high = facts.min_return, facts.max_return
    # a reward may change the return from one bound to the other
    return max(high - low, abs(low), abs(high)) * (1 + 1e-5)


def _wrong_order(columns: Columns, header: TrajectoryHeader, game_of_row: NDArray[np.int64]) -> Iterator[WrongRows]:
    """Unknown seats, moves out of order, and ends that are missing or stand before a seat's last decision."""
    seats, steps = columns.seats, columns.steps
    yield WrongRows(
        "seat",
        (seats < 0) | (seats >= header.players),
        lambda row: seats[row],
        lambda row: f"a seat 0..{header.players - 1}",
    )
    same_game = game_of_row[1:] == game_of_row[:-1]
    # rows of one game have one seed
    reseeded = np.concatenate([[False], same_game & (columns.seeds[1:] != columns.seeds[:-1])])
    yield WrongRows(
        "seed",
        reseeded[: len(seats)],
        lambda row: "null" if columns.seeds[row] == UNKNOWN_SEED else columns.seeds[row],
        lambda row: "that of the row before in the same game",
    )
    backwards = np.concatenate([[False], same_game & (steps[1:] < steps[:-1])]) | (steps < 0)
    yield WrongRows("step", backwards, lambda row: steps[row], lambda row: "at least 0 and that of the row before")
    order, first = seat_order(columns, header.players, game_of_row)
    last = np.append(first[1:], True)[: len(first)]
    repeated = np.zeros(len(steps), bool)
    # within a seat's sequence a step occurs once; seats of a simultaneous game share steps
    repeated[order[1:]] = (steps[order[1:]] == steps[order[:-1]]) & ~first[1:]
    yield WrongRows("step", repeated & ~backwards, lambda row: steps[row], lambda row: "once for a seat in a game")
    index = np.arange(len(steps))
    starts = game_starts(columns.games)
    # where seats take turns, steps count all moves of the game; where they move at once, those of the seat
    in_turn = index - np.repeat(starts, np.diff(np.append(starts, len(steps))))
    of_seat = np.empty(len(steps), np.int64)
    of_seat[order] = index - np.maximum.accumulate(np.where(first, index, 0))
    # two rows of one step: the game is simultaneous
    together = np.concatenate([[False], same_game & (steps[1:] == steps[:-1])])
    simultaneous = np.isin(game_of_row, game_of_row[together[: len(steps)]])
    expected = np.where(simultaneous, of_seat, in_turn)
    gap = (steps != expected) & (columns.seeds != UNKNOWN_SEED)  # logs of other programs may lack the moves of a seat
    yield WrongRows(
        "step",
        gap & ~backwards & ~repeated,
        lambda row: f"{steps[row]}, so that decisions before it are missing",
        lambda row: f"{expected[row]}: games are whole",
    )
    should_end = np.zeros(len(steps), bool)
    should_end[order[last]] = True
    ends = columns.terminated | columns.truncated
    yield _constant(
        "terminated", ends & ~should_end, "an end before the seat's last decision", "true on its last decision only"
    )
    yield _constant(
        "terminated",
        ~ends & should_end,
        "no end on the seat's last decision",
        "terminated or truncated: the file is cut",
    )


def seat_order(columns: Columns, players: int, game_of_row: NDArray[np.int64]) -> tuple[NDArray[np.int64], Flags]:
    """Rows (m,) sorted into sequences of one seat in one game, and flags (m,) that mark in that order where a sequence begins."""
    # clipped, so that a wrong seat, told elsewhere, does not break the order
    key = game_of_row * max(players, 1) + np.clip(columns.seats, 0, max(players - 1, 0))
    order = np.argsort(key, kind="stable")
    first = np.ones(len(key), bool)
    first[1:] = key[order][1:] != key[order][:-1]
    return order, first
