"""The formats that Ludory reads: one entry of a table with a good file, a reader, kinds of damage, and those that must be noticed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import samples
from .damage import ANY, ARRAYS, CHECKPOINT, CHECKPOINT_TABLE, LINES, TABLE, TEXT, VALUES, Change, json_values, packed

BAD_NUMBERS = frozenset({"NaN", "infinite", "1e999", "5,000 digits", "deep", "bad UTF-8"})
"""Damage that no text format may accept."""
SERIES = frozenset({"line lost", "line doubled", "lines swapped"})
"""Damage to be noticed where every line has a number or a place in a game."""
WHOLE = frozenset({"cut off", "bit flipped", "block of zeros", "block lost", "block doubled", "noise", "empty"})
"""Damage to be noticed where a checksum or the structure covers every byte."""
ROWS = frozenset({"null", "NaN", "huge", "column lost", "column of text", "row lost", "row doubled"})
"""Damage to be noticed where the rows of a table belong together and its values have bounds."""

_JSON = {**ANY, **TEXT, **json_values(by_line=False)}
_LOG = {**ANY, **TEXT, **LINES, **json_values(by_line=True)}
_PARQUET = {**ANY, **TABLE}


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file."""

    sample: str | Callable[[Path], None]
    """Name of an input to copy (see `jobs.INPUTS_MADE`), or a function that writes to an empty folder."""
    file: str
    """Pattern of the file to damage; the first match is used."""
    read: Callable[[Path], Any]
    """Reads the whole folder of the sample."""
    changes: Mapping[str, Change]
    covered: frozenset[str]
    """Kinds of damage that must be refused or make no difference."""


def _load(folder: Path) -> Any:
    import ludory

    model = ludory.load(folder / "model.ludory")
    return dict(model.policy.state_dict()), model.num_timesteps


def _restore(folder: Path) -> Any:
    """Restore and play on, since a state out of bounds has effects only then."""
    from ludory.envs.make import make_engine

    engine = make_engine(samples.GAME, 4, seed=1)
    engine.reset()
    engine.restore(folder / "games.npz")
    fields = {name: np.array(value) for name, value in engine.fields().items()}
    for _ in range(2):
        seen, legal = np.array(engine.observe()), np.array(engine.legal())
        moves = np.flatnonzero(legal.any(axis=1))
        if len(moves):
            engine.step(legal[moves].argmax(axis=1), moves)
    return fields, seen


def _trajectories(folder: Path) -> Any:
    from ludory.data.trajectories import TrajectoryDataset

    return [table.to_pydict() for table in TrajectoryDataset(folder).tables()]


def _search_log(folder: Path) -> Any:
    from ludory.data.formats.sparta.log import read_sparta_log

    log = read_sparta_log(folder / "sparta_games.jsonl", samples.GAME)
    return log.columns


def _sequences(folder: Path) -> Any:
    from ludory.data.formats.last_man_standing import load_sequences

    return [
        {name: getattr(one, name) for name in getattr(one, "__slots__", one.__dict__)}
        for one in load_sequences(folder).sequences
    ]


def _battles(folder: Path) -> Any:
    from ludory.data.formats.battles import BattleTrajectories

    return list(BattleTrajectories(folder / "battles.jsonl").parts())


def _replay(folder: Path) -> Any:
    from ludory.data.replay import frames, read_replay

    replay = read_replay(folder / "replay.json")
    return replay, sum(1 for _ in frames(replay))


def _league(folder: Path) -> Any:
    from ludory.algorithms.league.player_files import open_league

    opened = open_league(folder)
    return opened.config.to_json(), opened.state.to_json()


def _players(folder: Path) -> Any:
    from ludory.algorithms.league.player_files import open_league

    opened = open_league(folder)
    copies = [one.id for one in opened.state.players if one.frozen and one.file]
    players: list[Any] = [opened.pool.opponent(id) for id in copies]
    return [dict(player.state_dict()) for player in players]


def _exploiters(folder: Path) -> Any:
    from ludory.algorithms.league.exploitation import read_exploitations

    return read_exploitations(folder)


def _flywheel(folder: Path) -> Any:
    from ludory.algorithms.flywheel.state import FlywheelState

    return FlywheelState.read(folder)


def _oracle(folder: Path) -> Any:
    from ludory.algorithms.texas42.oracle.data import read_split

    return read_split(folder, "train", 100, 0)


def _hands(folder: Path) -> Any:
    from ludory.data.formats.texas42.eq_records import read_eq

    return [read_eq(file) for file in sorted(folder.rglob("*.safetensors"))]


def _bids(folder: Path) -> Any:
    from ludory.data.formats.texas42.bid_tables import read_bids

    return read_bids(folder / samples.NAME.path, samples.NAME)


def _calibration(folder: Path) -> Any:
    from ludory.agents.texas42.bidding.fitted_make_probability import read_calibration

    return read_calibration(folder / "calibration.json")


def _minari(folder: Path) -> Any:
    from ludory.data.formats.minari_sets import MinariTrajectories

    return list(MinariTrajectories(folder).parts())


_CHECKED = WHOLE | {name for name in CHECKPOINT if name.startswith(("tensors", "weight"))}
FORMATS = {
    "checkpoint": Format(samples.checkpoint, "model.ludory", _load, {**ANY, **CHECKPOINT}, _CHECKED),
    "engine snapshot": Format(samples.snapshot, "games.npz", _restore, {**ANY, **ARRAYS}, WHOLE | {"to_move outside"}),
    "shard": Format(
        "imitated",
        "part-00000.parquet",
        _trajectories,
        _PARQUET,
        WHOLE | ROWS - {"null"} | {"null for a value"},  # a null in an extra column stands for an unknown value
    ),
    "dataset.json": Format("imitated", "dataset.json", _trajectories, _JSON, BAD_NUMBERS),
    "search log": Format(
        "searched",
        "sparta_games.jsonl",
        _search_log,
        _LOG,
        BAD_NUMBERS | {"line doubled"},  # not "line lost": the format allows logs without the moves of a seat
    ),
    "recorder": Format(
        "ticks",
        "recorder/*_player_0.jsonl.gz",
        lambda folder: _sequences(folder / "recorder"),
        {**ANY, **packed({**TEXT, **LINES, **json_values(True)})},
        BAD_NUMBERS | SERIES | WHOLE,
    ),
    "recorder of others": Format(
        samples.recorder,
        "ep_bot.jsonl.gz",
        _sequences,
        {**ANY, **packed({**TEXT, **LINES, **json_values(True)})},
        BAD_NUMBERS | (SERIES - {"line lost"}) | WHOLE,  # these may begin at any tick
    ),
    "feedback stream": Format(
        samples.feedback, "feedback_training/run1/feedback_stream.jsonl", _sequences, _LOG, BAD_NUMBERS
    ),
    "feedback manifest": Format(samples.feedback, "live/batch/manifest.jsonl", _sequences, _LOG, BAD_NUMBERS),
    "battles": Format(samples.battles, "battles.jsonl", _battles, _LOG, BAD_NUMBERS | {"line doubled"}),
    "replay": Format("replay", "replay.json", _replay, _JSON, BAD_NUMBERS),
    "league log": Format("league", "events.jsonl", _league, _LOG, BAD_NUMBERS | SERIES),
    "league player": Format("league", "players/main0@0.ludory", _players, {**ANY, **CHECKPOINT}, _CHECKED),
    "exploiters.json": Format(samples.exploiters, "exploiters.json", _exploiters, _JSON, BAD_NUMBERS),
    "flywheel.json": Format("wheel", "flywheel.json", _flywheel, _JSON, BAD_NUMBERS),
    "texas42 labels": Format("labels", "train/*.parquet", _oracle, _PARQUET, WHOLE | {"null", "huge", "column lost"}),
    "texas42 shard": Format("states", "train/*.parquet", _oracle, _PARQUET, WHOLE | {"null", "huge", "column lost"}),
    "texas42 hand": Format("hands", "train/*.safetensors", _hands, {**ANY, **CHECKPOINT_TABLE}, WHOLE),
    "texas42 bids": Format(samples.bids, "*/*.parquet", _bids, _PARQUET, WHOLE | ROWS - {"huge"}),
    "texas42 calibration": Format(samples.calibration, "calibration.json", _calibration, _JSON, BAD_NUMBERS),
    "minari": Format("minari", "data/main_data.hdf5", _minari, ANY, frozenset({"cut off", "empty", "noise"})),
    "minari metadata": Format("minari", "data/metadata.json", _minari, _JSON, frozenset()),
}
"""Name -> format. A new format needs one more entry."""
assert set(VALUES) >= BAD_NUMBERS - {"bad UTF-8"}


def write_sample(arguments: list[str]) -> int:
    """Write the good files of a format (first argument) to a folder (second argument); runs in a process of its own."""
    name, folder = arguments
    make = FORMATS[name].sample
    assert not isinstance(make, str)
    Path(folder).mkdir(parents=True, exist_ok=True)
    make(Path(folder))
    return 0


def plain(value: Any) -> Any:
    """What was read, as a value whose `repr` shows all of it."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes() if value.dtype != object else value.tolist()
    if isinstance(value, Mapping):
        return sorted((str(name), plain(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, plain(getattr(value, field.name))) for field in dataclasses.fields(value)]
    if hasattr(value, "to_json"):
        return json.dumps(value.to_json(), default=str)
    return repr(value)
