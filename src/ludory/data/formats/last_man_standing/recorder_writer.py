"""Write recordings of the arena as recorder files: every game is replayed, and each seat's view is written tick by tick."""

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
from ludory.data import Columns, TrajectoryDataset, TrajectoryHeader, from_table, game_starts, taken
from ludory.envs import Engine, Game, State, first_legal, make_engine, make_game
from ludory.envs.arena.codec import FIELDS, HEADS, decode
from ludory.envs.arena.constants import TICKS, UNIT_LENGTH, VISION
from ludory.errors import DataError, IllegalActionError, ReplayError
from ludory.written import WrittenFiles

ARENA = "Arena"
LEVEL = 6
"""Compression level of gzip."""
TIMERS = ("fire", "dash", "shield", "nova", "mine")
KINDS = ("health_pack", "ammo_crate")
"""By the crate's index modulo 2."""
POINTS = 100
"""Units of the state in one hit point."""


def write_recorder(recording: str | Path | TrajectoryDataset, folder: str | Path) -> list[Path]:
    """Write one file `{game}-{seed}-{number}_player_{seat}.jsonl.gz` for every seat in every game of a recording of the arena.

    A line is as a recorder writes it, and also has `seat`, `game` (its number), `bins` (sizes of the heads), `legal` and `used` (0 or 1
    for every value and every head), `behavior_logp_heads` ({head: log-probability, or null}); `behavior_logp` is the sum over the heads
    in use. Nothing is rounded. Existing files are overwritten.

    Args:
        recording: of `ludory record`.
        folder: created if it does not exist.

    Raises:
        DataError: the recording is of another game, or has no seed.
        ReplayError: a game does not go as recorded: the rules have changed.
        OutputError: a file cannot be written, or has been removed or replaced by the end.
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
    """Split into games with consecutive numbers, which one engine can play in a batch."""
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
            seen = _scene(engine.state, i, seat)
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
    """Refuse a game in which a seat does not see what was recorded."""
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


def _scene(state: State, i: int, seat: int) -> dict[str, Any]:
    """The observation of a seat in game i, as plain values copied from the state: all rivals and crates in sight, the nearest first.

    Lengths in units, speeds in units per second, times in seconds, hit points 0 to 100: the values of `seed19` before rounding.
    """
    x, y = int(state.x[i, seat]), int(state.y[i, seat])
    tick, radius = int(state.t[i]), int(state.zone_radius[i])
    zone_x, zone_y = int(state.zone_x[i]), int(state.zone_y[i])
    return {
        "self_state": {
            "position": _units(x, y),
            "velocity": [int(state.vx[i, seat]) * TICKS / UNIT_LENGTH, int(state.vy[i, seat]) * TICKS / UNIT_LENGTH],
            "hp": int(state.hp[i, seat]) / POINTS,
            "cooldowns": {name: int(state.cooldown[i, seat, column]) / TICKS for column, name in enumerate(TIMERS)},
            "ammo": int(state.ammunition[i, seat]),
        },
        "zone_state": {
            "position": _units(zone_x, zone_y),
            "radius": radius / UNIT_LENGTH,
            "is_safe": (x - zone_x) ** 2 + (y - zone_y) ** 2 <= radius**2,
        },
        "tick_id": tick,
        "visible_entities": [
            {"id": f"player_{rival}", "position": place, "type": "enemy", "hp": int(state.hp[i, rival]) / POINTS}
            for rival, place in _in_sight(state.x[i], state.y[i], state.alive[i] == 1, x, y)
            if rival != seat
        ],
        "visible_items": [
            {"id": f"crate_{crate}", "position": place, "type": KINDS[crate % len(KINDS)]}
            for crate, place in _in_sight(state.crate_x[i], state.crate_y[i], state.crate_wait[i] == 0, x, y)
        ],
    }


def _units(x: int, y: int) -> list[float]:
    return [x / UNIT_LENGTH, y / UNIT_LENGTH]


def _in_sight(xs: Any, ys: Any, there: Any, x: int, y: int) -> list[tuple[int, list[float]]]:
    """Index and position of what is present and in sight, ordered by distance, then index."""
    places = [(int(a), int(b)) for a, b in zip(xs, ys, strict=True)]
    away = [(a - x) ** 2 + (b - y) ** 2 for a, b in places]
    seen = [k for k in range(len(places)) if bool(there[k]) and away[k] <= VISION**2]
    return [(k, _units(*places[k])) for k in sorted(seen, key=lambda k: (away[k], k))]
