"""Recordings of the arena as recorder files: every game is played again, and each seat's ticks are written down as it sees them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.claims import claimed
from ludory.data.columns import Columns, from_table, game_starts, taken
from ludory.data.dataset import TrajectoryDataset
from ludory.data.header import TrajectoryHeader
from ludory.envs.arena.codec import FIELDS, HEADS, decode
from ludory.envs.engine.protocol import Engine
from ludory.envs.game import Game
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.table import first_legal
from ludory.errors import DataError, IllegalActionError, ReplayError
from ludory.written import WrittenFiles

from .arena_scene import scene

ARENA = "Arena"
LEVEL = 6
"""Of gzip."""


def write_recorder(recording: str | Path | TrajectoryDataset, folder: str | Path) -> list[Path]:
    """Write one file `{game}-{seed}-{number}_player_{seat}.jsonl.gz` for every seat in every game of a recording of the arena.

    A line is as a recorder writes it, and also has `seat`, `game` (its number), `bins` (sizes of the heads), `legal` and `used` (0 or 1
    for every value and every head), `behavior_logp_heads` ({head: log-probability, or null}); `behavior_logp` is the sum over the heads
    in use. Nothing is rounded. Files that are there are written anew.

    Args:
        recording: of `ludory record`.
        folder: made if it is not there.

    Raises:
        DataError: the recording is of another game, or nothing says which random numbers it drew.
        ReplayError: a game does not go as recorded under the rules of this version.
        OutputError: a file cannot be written, or is gone or another one at the end.
    """
    dataset = recording if isinstance(recording, TrajectoryDataset) else TrajectoryDataset(recording)
    header = dataset.header
    game = make_game(header.game, **header.options)
    if game.facts.name != ARENA or header.seed is None:
        got = f"games of {header.game}" if game.facts.name != ARENA else "games without a seed"
        raise DataError(
            f"{dataset.path}: got {got}; recorder files are made of a recording of the arena by `ludory record`"
        )
    header.check_fits(game.facts)
    files, written = [], WrittenFiles()
    with claimed(Path(folder).resolve(), wait=True):
        for table in dataset.tables():
            for games in _runs(from_table(table, header)):
                lines = _play(game, header, games)
                for (number, seat), texts in lines.items():
                    files.append(Path(folder) / f"{header.game}-{header.seed}-{number:08d}_player_{seat}.jsonl.gz")
                    _write(files[-1], texts)
                    written.add(files[-1])
        written.check()
    return files


def _runs(columns: Columns) -> Iterator[Columns]:
    """Games of consecutive numbers, which one batch of an engine can play."""
    starts = game_starts(columns.games)
    breaks = np.flatnonzero(np.diff(columns.games[starts]) != 1) + 1
    edges = [0, *starts[breaks].tolist(), len(columns.games)]
    for start, stop in pairwise(edges):
        yield taken(columns, slice(start, stop))


def _play(game: Game, header: TrajectoryHeader, columns: Columns) -> dict[tuple[int, int], list[str]]:
    """The lines of every (game, seat)."""
    first = int(columns.games[0])
    engine = make_engine(game, int(columns.games[-1]) - first + 1, seed=header.seed, first_game=first)
    engine.reset()
    lines: dict[tuple[int, int], list[str]] = {}
    for step in range(int(columns.steps.max()) + 1):
        rows = np.flatnonzero(columns.steps == step)
        games, seats = columns.games[rows] - first, columns.seats[rows]
        _compare(engine, columns, rows, games, seats, header)
        legal = engine.legal()
        actions = first_legal(legal, game.facts)
        actions[games, seats] = columns.actions[rows]
        used = engine.used(actions)
        for row, i, seat in zip(rows.tolist(), games.tolist(), seats.tolist(), strict=True):
            seen = scene(engine.state, i, seat)
            own = {"seat": seat, "game": first + i, "bins": list(header.head_sizes)}
            flags = {"legal": legal[i, seat].astype(int).tolist(), "used": used[i, seat].astype(int).tolist()}
            line = {
                "tick_id": seen["tick_id"],
                "observation": seen,
                "action": _action(columns.actions[row], header),
                "reward": float(columns.rewards[row]),
                "done": bool(columns.terminated[row]),
                **_log_probs(columns.log_probs[row], used[i, seat]),
            }
            lines.setdefault((first + i, seat), []).append(json.dumps(line | own | flags, allow_nan=False))
        try:
            engine.step(actions)
        except IllegalActionError as error:
            raise ReplayError(f"step {step} does not fit the rules of this version: {error}") from error
    return lines


def _compare(
    engine: Engine,
    columns: Columns,
    rows: NDArray[np.int64],
    games: NDArray[np.int64],
    seats: NDArray[np.int64],
    header: TrajectoryHeader,
) -> None:
    """Refuse a game in which a seat does not see what it saw."""
    seen = engine.observe()[games, seats].reshape(len(rows), -1)
    wrong = np.flatnonzero((seen != columns.observations[rows]).any(axis=1) | (engine.to_move[games] < 0))
    if len(wrong):
        number, seat, step = columns.games[rows[wrong[0]]], seats[wrong[0]], columns.steps[rows[wrong[0]]]
        raise ReplayError(
            f"game {number} of {header.game}, seat {seat}, step {step}: the seat sees something else than was recorded; "
            "the rules have changed, record the games again"
        )


def _action(heads: NDArray[np.int64], header: TrajectoryHeader) -> dict[str, Any]:
    action = decode(heads, header.head_sizes)
    return {name: getattr(action, name) for name in FIELDS}


def _log_probs(by_head: NDArray[np.float32], used: NDArray[np.bool_]) -> dict[str, Any]:
    joint = float(by_head[used].astype(np.float64).sum())
    return {
        "behavior_logp": None if np.isnan(joint) or np.isnan(by_head).all() else joint,
        "behavior_logp_heads": {
            name: None if np.isnan(value) else float(value) for name, value in zip(HEADS, by_head, strict=True)
        },
    }


def _write(file: Path, lines: list[str]) -> None:
    with (
        atomic_file(file) as handle,
        gzip.GzipFile(filename="", mode="wb", fileobj=handle, compresslevel=LEVEL, mtime=0) as packed,
    ):
        packed.write("".join(line + "\n" for line in lines).encode())
