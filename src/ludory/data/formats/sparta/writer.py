"""Write recorded games of Hanabi as a search log for other programs: JSON lines or one JSON array, with one record per decision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.data import Columns, TrajectoryHeader, from_table, game_starts
from ludory.data.recording.search_columns import PREVIOUS
from ludory.errors import DataError, OptionError

from .fields import FIELDS

Form = Literal["jsonl", "json"]
FORMS: tuple[str, ...] = get_args(Form)


def write_sparta_log(
    file: str | Path,
    header: TrajectoryHeader,
    tables: Iterable[pa.Table],
    form: Form = "jsonl",
    legal: Literal["mask", "ids"] = "mask",
) -> int:
    """Write whole games with consecutive rows, to be read by `read_sparta_log`; returns the number of records.

    Every record has the reward of its move, shared by all seats, under the bomb convention that it names, and Ludory's action ids.
    Q values are mean returns from the decision on; null if an action was not tried.

    Args:
        file: written atomically.
        header: of the games.
        tables: rows with all columns, as from `TrajectoryDataset.tables`.
        form: one record per line, or one array.
        legal: format of legal actions: 0 or 1 for every action (`legal_mask`), or a list of ids (`legal_action_ids`).

    Raises:
        OptionError: an argument has an invalid value, or the game is not Hanabi.
        DataError: there are no games, or moves of a game are missing.
        OutputError: the file cannot be written.
    """
    for name, value, allowed in (("form", form, FORMS), ("legal", legal, ("mask", "ids"))):
        if value not in allowed:
            raise OptionError(f"{name}={value!r}: must be one of {', '.join(allowed)}")
    if not {"fireworks", "last_touched"} <= {segment.name for segment in header.observation.segments}:
        raise OptionError(f"{header.game}: these logs are of Hanabi; leave the format out, or record e.g. Hanabi2P-v0")
    # before each record but the first, and behind each
    count, between, after = 0, *(("", "\n") if form == "jsonl" else (",\n", ""))
    with atomic_file(file, "w") as handle:
        handle.write("" if form == "jsonl" else "[")
        for record in _records(header, tables, legal):
            handle.write(
                (between if count else "") + json.dumps(record, separators=(",", ":"), allow_nan=False) + after
            )
            count += 1
        if not count:
            raise DataError(f"no whole game to write to {file}")
        handle.write("" if form == "jsonl" else "]\n")
    return count


def _records(header: TrajectoryHeader, tables: Iterable[pa.Table], legal: str) -> Iterator[dict[str, Any]]:
    fixed = {"action_order": "ludory", "bomb": header.options.get("bomb", "zero")}
    sizes = {one.name: one.size for one in header.extra_columns if one.name in FIELDS}
    for table in tables:
        columns = from_table(table, header)
        seen = columns.observations
        if header.observation.bits:
            seen = np.unpackbits(seen, axis=1, count=header.observation.size)
        masks = np.unpackbits(columns.masks, axis=1, count=header.num_actions)
        course = _course(columns, header)
        extras = {name: table[name].to_pylist() for name in sizes}
        for row in range(len(columns.games)):
            more = {name: _field(values[row]) for name, values in extras.items()}
            # lists of a decision that was not searched say nothing
            if "q" in more and set(more["q"]) == {None}:  # nothing was searched
                more = {name: value for name, value in more.items() if not sizes[name]}
            yield {
                "game_id": int(columns.games[row]),
                "t": int(columns.steps[row]),
                "seat": int(columns.seats[row]),
                "obs_vec": seen[row].tolist() if header.observation.bits else [_plain(one) for one in seen[row]],
                **({"legal_mask": masks[row].tolist()} if legal == "mask" else _ids(masks[row])),
                "action_sparta": int(columns.actions[row, 0]),
                "reward": float(course.rewards[row]),
                "done": bool(columns.terminated[row] and course.last[row]),
                PREVIOUS.name: int(course.previous[row]),
                **{FIELDS[name]: value for name, value in more.items() if value is not None},
                **fixed,
            }


class _Course(NamedTuple):
    """Of m records: the previous action (A: none), the reward of the move, and whether it is the last of the game."""

    previous: NDArray[np.int64]
    rewards: NDArray[np.float64]
    last: NDArray[np.bool_]


def _course(columns: Columns, header: TrajectoryHeader) -> _Course:
    starts, steps = game_starts(columns.games), columns.steps
    ends = np.append(starts[1:], len(steps)) - 1
    # shifted by one row; the first move of a game has none before it
    previous, last = np.roll(columns.actions[:, 0], 1), np.zeros(len(steps), bool)
    previous[starts], last[ends] = header.num_actions, True
    if (steps[starts] != 0).any() or (np.diff(steps)[~last[:-1]] != 1).any():
        raise DataError("a game of which not all moves are recorded has no rewards to write; leave it out")
    to_come, own = np.zeros(len(steps) + 1), np.zeros(header.players)
    # rows hold rewards up to the seat's next decision; a record wants those of the move alone
    for row in reversed(range(len(steps))):  # rewards are shared, so future rewards of one seat are those of all
        if last[row]:
            own[:] = 0
        own[columns.seats[row]] += columns.rewards[row]
        to_come[row] = own[columns.seats[row]]
    return _Course(previous, to_come[:-1] - np.where(last, 0, to_come[1:]), last)


def _ids(mask: NDArray[np.uint8]) -> dict[str, list[int]]:
    return {"legal_action_ids": np.flatnonzero(mask).tolist()}


def _field(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return _plain(value) if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    """A number with the digits of its float32 value; None for NaN."""
    # float32 has seven digits; more would be the digits of its float64
    if isinstance(value, float | np.floating):
        return float(str(np.float32(value))) if np.isfinite(value) else None
    return int(value)
