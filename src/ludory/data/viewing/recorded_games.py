"""Recorded games one by one: a table of the games of a set, of a folder of replays or of files of a viewer, and any game as a replay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ludory.data.columns import START, UNKNOWN_SEED
from ludory.data.header import TrajectoryHeader
from ludory.data.playthrough import ALL_SEATS, PlayedMove, as_tuples
from ludory.data.replay import Replay, is_replay, read_replay
from ludory.data.shards import MANIFEST, open_shard, read_manifest, shard_file, shard_header
from ludory.envs.make import make_engine, make_game
from ludory.errors import DataError, IllegalActionError, OptionError, ReplayError, UnknownIdError
from ludory.reading import JsonError, parse_json, shown

from .game_rows import GameFilter, GamePage, GameRow, Kind, kept_rows
from .viewer import viewed_files, viewed_rows, viewers

MOST_GAMES, MOST_REPLAYS = 200_000, 1000
"""Games of a set, and replays of a folder, that are listed."""
TOLERANCE = 1e-3
"""Largest difference of a return, computed again, from the recorded one, which is rounded to float32."""


class RecordedGames(NamedTuple):
    """The games of a set as columns of n games."""

    header: TrajectoryHeader
    files: tuple[str, ...]
    shards: NDArray[np.int32]
    """(n,) index in `files`."""
    games: NDArray[np.int64]
    """(n,) ids of the games in the set."""
    seeds: NDArray[np.int64]
    """(n,), -1 where unknown."""
    returns: NDArray[np.float64]
    """(n, P)"""
    moves: NDArray[np.int64]
    finished: NDArray[np.bool_]


def is_recording(folder: str | Path) -> bool:
    """Whether a folder holds a set of recorded games."""
    return (Path(folder) / MANIFEST).is_file()


def kinds_of(place: str | Path) -> list[Kind]:
    """What lies directly in a folder, or what a file is: a set of recorded games, or replays and what viewers show; of a replay's file nothing."""
    if is_recording(place):
        return ["set"]
    if is_replay(place):
        return []
    found: list[Kind] = ["replays"] if any(map(is_replay, Path(place).glob("*.json"))) else []
    return [*found, *(id for id in viewers() if viewed_files(id, place))]


def list_games(
    place: str | Path, chosen: GameFilter | None = None, first: int = 0, count: int = 50, kind: Kind | None = None
) -> GamePage:
    """The recorded games of a folder that a filter keeps: `count` of them from `first` on.

    Args:
        place: a set, a folder with replays, or a folder or file of a viewer.
        chosen: the filter; None keeps all.
        first: number of games left out at the beginning.
        count: most games of the page.
        kind: what to list of a folder that has several kinds; None: the first of `kinds_of`.

    Raises:
        DataError: the set cannot be read.
        OptionError: the filter names a seat that the game does not have.
    """
    chosen, kind = chosen or GameFilter(), kind or next(iter(kinds_of(place)), "replays")
    if kind != "set":
        rows = _replay_rows(place) if kind == "replays" else viewed_rows(kind, place)
        kept = kept_rows(rows, chosen)
        return GamePage(kept[first : first + count], len(kept), len(rows))
    table = game_table(place)
    order = _kept_games(table, chosen)
    return GamePage([_row(table, int(k)) for k in order[first : first + count]], len(order), len(table.games))


def _kept_games(table: RecordedGames, chosen: GameFilter) -> NDArray[np.int64]:
    """Rows that the filter keeps, in its order."""
    header = table.header
    if not 0 <= chosen.seat < header.players:
        raise OptionError(f"seat={chosen.seat}: must be 0 to {header.players - 1}")
    if chosen.agent and not any(chosen.agent.lower() in name.lower() for name in header.agents):
        return np.zeros(0, np.int64)
    score = table.returns[:, chosen.seat]
    keep = np.ones(len(table.games), bool)
    for values, low, high in ((score, chosen.low, chosen.high), (table.moves, chosen.shortest, chosen.longest)):
        keep &= (values >= (-np.inf if low is None else low)) & (values <= (np.inf if high is None else high))
    kept = np.flatnonzero(keep)
    if chosen.sort != "row":
        order = (score if chosen.sort == "score" else table.moves)[kept]
        return kept[np.argsort(-order if chosen.descending else order, kind="stable")]
    return kept[::-1] if chosen.descending else kept


def _row(table: RecordedGames, k: int) -> GameRow:
    returns = tuple(round(float(value), 4) for value in table.returns[k])
    made = int(table.moves[k]), bool(table.finished[k])
    return GameRow(k, str(table.games[k]), table.header.game, table.header.agents, returns, *made)


def _replay_rows(folder: str | Path) -> list[GameRow]:
    return [
        GameRow(k, file.name, replay.game, replay.agents, replay.returns, len(replay.moves), replay.finished)
        for k, file in enumerate(replay_files(folder))
        if (replay := _replay(file))
    ]


def replay_files(folder: str | Path) -> list[Path]:
    """The replays directly in a folder, by name; symbolic links are left out."""
    found = sorted(file for file in Path(folder).glob("*.json") if file.is_file() and not file.is_symlink())
    return [file for file in found if is_replay(file)][:MOST_REPLAYS]


def _replay(file: Path) -> Replay | None:
    """The replay in a file; None where it is damaged."""
    try:
        known = file.stat()
        return _read_replay(str(file), known.st_size, known.st_mtime_ns)
    except (OSError, ReplayError):
        return None


@lru_cache(256)
def _read_replay(file: str, size: int, changed: int) -> Replay:
    return read_replay(file)


def replay_of(folder: str | Path, row: int) -> Replay:
    """A game of `list_games` as a replay, played again from its seed and checked against what was recorded.

    Raises:
        UnknownIdError: there is no such row.
        DataError, ReplayError: the set cannot be read, its games have no seed, or the game does not go as recorded.
    """
    if is_recording(folder):
        return _replay_of_set(game_table(folder), row)
    files = replay_files(folder)
    if not 0 <= row < len(files):
        raise UnknownIdError(f"{folder}: no row {row}; it has the rows 0 to {len(files) - 1}")
    return read_replay(files[row])


def game_table(folder: str | Path) -> RecordedGames:
    """The games of a set; computed once for each state of its files. Files that are not there yet are left out.

    Raises:
        DataError: the set cannot be read, or none of its files is there.
    """
    manifest = read_manifest(folder)
    files = [shard_file(folder, shard) for shard in range(-(-min(manifest.games, MOST_GAMES) // manifest.shard_games))]
    known = tuple((str(file), file.stat().st_mtime_ns) for file in files if file.is_file())
    if not known:
        raise DataError(f"{folder}: none of its games is written yet; wait for `ludory record`, or start it again")
    return _table(known)


@lru_cache(8)
def _table(files: tuple[tuple[str, int], ...]) -> RecordedGames:
    parts = [_games_in(file) for file, _ in files]
    shards = np.concatenate([np.full(len(part.games), k, np.int32) for k, part in enumerate(parts)])
    names = ("games", "seeds", "returns", "moves", "finished")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return RecordedGames(parts[0].header, tuple(file for file, _ in files), shards, **columns)


def _games_in(file: str) -> RecordedGames:
    shard = open_shard(file)
    header = shard_header(shard, file)
    earned = "earned" in {column.name for column in header.extra_columns}
    wanted = ["game", "seed", "step", "seat", "reward", "terminated", "truncated", *(["earned"] if earned else [])]
    try:
        table = shard.read(columns=wanted)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{file}: cannot be read ({str(error).splitlines()[0]}); record its games again") from error
    read = {
        name: table[name].fill_null(UNKNOWN_SEED).to_numpy() if name == "seed" else table[name].to_numpy()
        for name in wanted
    }
    # rows of a game are consecutive
    starts = np.flatnonzero(np.append(True, np.diff(read["game"]) != 0))
    number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(table))))
    returns = np.zeros((len(starts), header.players))
    # unbuffered, since a seat has several rows in a game
    np.add.at(returns, (number, read["seat"]), read["reward"])
    if earned:  # what a seat got before its first decision
        _, first = np.unique(number * header.players + read["seat"], return_index=True)
        returns[number[first], read["seat"][first]] += read["earned"][first]
    # steps count from 0
    moves = np.maximum.reduceat(read["step"], starts).astype(np.int64) + 1
    finished = np.logical_or.reduceat(read["terminated"] | read["truncated"], starts)
    shards = np.zeros(len(starts), np.int32)
    return RecordedGames(header, (file,), shards, read["game"][starts], read["seed"][starts], returns, moves, finished)


def _replay_of_set(table: RecordedGames, row: int) -> Replay:
    header = table.header
    if not 0 <= row < len(table.games):
        raise UnknownIdError(f"no row {row}; the set has the rows 0 to {len(table.games) - 1}")
    id, seed = int(table.games[row]), int(table.seeds[row])
    rows, start = _rows_of(table, row), dict[str, Any]()
    if seed == UNKNOWN_SEED:
        if START.name not in rows.column_names:
            raise ReplayError(
                f"game {id} of this set has no seed, so its positions cannot be found by playing it again; only games that Ludory recorded can be watched"
            )
        # nothing is drawn that the start does not say
        seed, start = 0, _start_of(rows, id)
    # the id of a recorded game is its number among the games of the seed
    engine = make_engine(make_game(header.game, **header.options), seed=seed, first_game=id)
    engine.reset(options=start)
    players = header.agents or tuple(f"seat {seat}" for seat in range(header.players))
    returns, moves = np.zeros(header.players), []
    try:
        for actions in _steps(rows, engine, header):
            seat = ALL_SEATS if engine.facts.simultaneous else int(engine.to_move[0])
            engine.step(actions[None] if engine.facts.simultaneous or len(header.heads) > 1 else actions)
            returns += engine.rewards[0]
            moves.append(PlayedMove(seat, as_tuples(actions if actions.shape != (1,) else actions[0])))
    except (IllegalActionError, LookupError) as error:
        raise ReplayError(f"game {id} does not go as recorded under the rules of this version: {error}") from error
    if not np.allclose(returns, table.returns[row], atol=TOLERANCE):
        raise ReplayError(
            f"game {id} ends with returns {_numbers(returns)} when played again, recorded are {_numbers(table.returns[row])}; "
            "its recorded actions are labels of a teacher, or the rules have changed"
        )
    over = int(engine.to_move[0]) < 0
    made = tuple(map(float, returns)), over
    return Replay(header.game, dict(header.options), seed, id, start, players, tuple(moves), *made)


def _start_of(rows: pa.Table, id: int) -> dict[str, Any]:
    """The reset options of a game without a seed."""
    text = rows[START.name][0].as_py()
    try:
        start = parse_json(text or "")
    except JsonError as error:
        raise ReplayError(f"game {id}, field {START.name!r}: {error}; convert its file again") from error
    if not isinstance(start, dict):
        raise ReplayError(
            f"game {id}, field {START.name!r}: got {shown(start)}, must be a JSON object; convert its file again"
        )
    return start


def _rows_of(table: RecordedGames, row: int) -> pa.Table:
    """The rows of a game, in the order of its moves."""
    file = table.files[table.shards[row]]
    wanted = ["game", "step", "seat", *(f"action_{name}" for name in table.header.head_names)]
    wanted += [START.name] if START in table.header.extra_columns else []
    found = open_shard(file).read(columns=wanted)
    return found.filter(pc.equal(found["game"], int(table.games[row])))


def _steps(rows: pa.Table, engine: Any, header: TrajectoryHeader) -> Any:
    """Yield the actions of each step: (H,), or (P, H) where all move at once; seats that wait get zeros."""
    seats = rows["seat"].to_numpy()
    actions = np.column_stack([rows[f"action_{name}"].to_numpy() for name in header.head_names]).astype(np.int64)
    if not engine.facts.simultaneous:
        for seat, action in zip(seats, actions, strict=True):
            if seat != int(engine.to_move[0]):
                raise LookupError(
                    f"a decision of seat {seat} is recorded where seat {int(engine.to_move[0])} is to move"
                )
            yield action
        return
    # each seat's decisions in order; in a step in which it waits a seat has none
    queues = [iter(actions[seats == seat]) for seat in range(header.players)]
    while int(engine.to_move[0]) >= 0:
        together = np.zeros((header.players, len(header.heads)), np.int64)
        for seat in np.flatnonzero(engine.deciding[0]):
            action = next(queues[seat], None)
            if action is None:
                return
            together[seat] = action
        yield together


def _numbers(values: Sequence[float] | NDArray[np.float64]) -> str:
    return ", ".join(f"{value:g}" for value in values)
