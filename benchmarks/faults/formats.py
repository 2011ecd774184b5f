"""The formats that Ludory reads: one entry of a table with a good file, a reader, kinds of damage, and those that must be noticed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import readers, samples
from .damage import ANY, ARRAYS, CHECKPOINT, CHECKPOINT_TABLE, LINES, TABLE, TEXT, VALUES, Change, json_values, packed

BAD_NUMBERS = frozenset({"NaN", "infinite", "1e999", "5,000 digits", "deep", "bad UTF-8"})
"""Damage that no text format may accept."""
SERIES = frozenset({"line lost", "line doubled", "lines swapped"})
"""Damage to be noticed where every line has a number or a place in a game."""
WHOLE = frozenset({"cut off", "bit flipped", "block of zeros", "block lost", "block doubled", "noise", "empty", "code"})
"""Damage to be noticed where a checksum or the structure covers every byte."""
ROWS = frozenset({"null", "NaN", "huge", "column lost", "column of text", "row lost", "row doubled"})
"""Damage to be noticed where the rows of a table belong together and its values have bounds."""

_JSON = {**ANY, **TEXT, **json_values(by_line=False)}
_LOG = {**ANY, **TEXT, **LINES, **json_values(by_line=True)}
_PARQUET = {**ANY, **TABLE}
_SAFETENSORS = {**ANY, **CHECKPOINT_TABLE}
_NPZ = {**ANY, **{name: change for name, change in ARRAYS.items() if name != "to_move outside"}}


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


_VALUES = frozenset(json_values(by_line=False))
_CHECKED = WHOLE | {name for name in CHECKPOINT if name.startswith(("tensors", "weight"))}
FORMATS = {
    "checkpoint": Format(samples.checkpoint, "model.ludory", readers.load, {**ANY, **CHECKPOINT}, _CHECKED),
    "engine snapshot": Format(
        samples.snapshot, "games.npz", readers.restore, {**ANY, **ARRAYS}, WHOLE | {"to_move outside"}
    ),
    "shard": Format(
        "imitated",
        "part-00000.parquet",
        readers.trajectories,
        _PARQUET,
        WHOLE | ROWS - {"null"} | {"null for a value"},  # a null in an extra column stands for an unknown value
    ),
    "dataset.json": Format("imitated", "dataset.json", readers.trajectories, _JSON, BAD_NUMBERS),
    "search log": Format(
        "searched",
        "sparta_games.jsonl",
        readers.search_log,
        _LOG,
        BAD_NUMBERS | {"line doubled"},  # not "line lost": the format allows logs without the moves of a seat
    ),
    "recorder": Format(
        "ticks",
        "recorder/*_player_0.jsonl.gz",
        lambda folder: readers.sequences(folder / "recorder"),
        {**ANY, **packed({**TEXT, **LINES, **json_values(True)})},
        BAD_NUMBERS | SERIES | WHOLE,
    ),
    "recorder of others": Format(
        samples.recorder,
        "ep_bot.jsonl.gz",
        readers.sequences,
        {**ANY, **packed({**TEXT, **LINES, **json_values(True)})},
        BAD_NUMBERS | (SERIES - {"line lost"}) | WHOLE,  # these may begin at any tick
    ),
    "feedback stream": Format(
        samples.feedback, "feedback_training/run1/feedback_stream.jsonl", readers.sequences, _LOG, BAD_NUMBERS
    ),
    "feedback manifest": Format(samples.feedback, "live/batch/manifest.jsonl", readers.sequences, _LOG, BAD_NUMBERS),
    "battles": Format(samples.battles, "battles.jsonl", readers.battles, _LOG, BAD_NUMBERS | {"line doubled"}),
    "replay": Format("replay", "replay.json", readers.replay, _JSON, BAD_NUMBERS),
    "league log": Format("league", "events.jsonl", readers.league, _LOG, BAD_NUMBERS | SERIES),
    "league player": Format("league", "players/main0@0.ludory", readers.players, {**ANY, **CHECKPOINT}, _CHECKED),
    "exploiters.json": Format(samples.exploiters, "exploiters.json", readers.exploiters, _JSON, BAD_NUMBERS),
    "flywheel.json": Format("wheel", "flywheel.json", readers.flywheel, _JSON, BAD_NUMBERS),
    "texas42 labels": Format(
        "labels", "train/*.parquet", readers.oracle, _PARQUET, WHOLE | {"null", "huge", "column lost"}
    ),
    "texas42 shard": Format(
        "states", "train/*.parquet", readers.oracle, _PARQUET, WHOLE | {"null", "huge", "column lost"}
    ),
    "texas42 hand": Format("hands", "train/*.safetensors", readers.hands, {**ANY, **CHECKPOINT_TABLE}, WHOLE),
    "texas42 bids": Format(samples.bids, "*/*.parquet", readers.bids, _PARQUET, WHOLE | ROWS - {"huge"}),
    "texas42 calibration": Format(samples.calibration, "calibration.json", readers.calibration, _JSON, BAD_NUMBERS),
    "minari": Format("minari", "data/main_data.hdf5", readers.minari, ANY, frozenset({"cut off", "empty", "noise"})),
    "minari metadata": Format("minari", "data/metadata.json", readers.minari, _JSON, frozenset()),
    "pokemon replays": Format(
        samples.few_replays, "replays.jsonl", readers.replays, _LOG, BAD_NUMBERS | {"line doubled"}
    ),
    "pokemon trajectories": Format(
        samples.battle_trajectories, "battles.jsonl", readers.battle_trajectories, _LOG, BAD_NUMBERS | {"line doubled"}
    ),
    "pokemon data set": Format(
        samples.battle_caches, "cache/pokemon-data/*/part-*.parquet", samples.read_battle_caches, _PARQUET, WHOLE
    ),
    "pokemon names": Format(
        samples.battle_caches, "cache/pokemon-data/*/names.json", samples.read_battle_caches, _JSON, BAD_NUMBERS
    ),
    "pokemon samples": Format(
        samples.battle_caches, "cache/pokemon-samples/*/observations.npy", samples.read_battle_caches, ANY, WHOLE
    ),
    "pokemon labels": Format(
        samples.battle_caches, "cache/pokemon-samples/*/actions.npy", samples.read_battle_caches, ANY, WHOLE
    ),
    "text-ppo weights": Format(
        "token_ppo", "model.safetensors", readers.token_ppo, _SAFETENSORS, WHOLE | {*CHECKPOINT_TABLE}
    ),
    "text-ppo optimiser": Format(
        "token_ppo", "optimizer.safetensors", readers.token_ppo, _SAFETENSORS, WHOLE | {*CHECKPOINT_TABLE}
    ),
    "text-ppo header": Format("token_ppo", "ludory.json", readers.token_ppo, _JSON, BAD_NUMBERS | _VALUES),
    "text-ppo tokenizer": Format(
        "token_ppo", "tokenizer.json", readers.token_ppo, _JSON, BAD_NUMBERS | _VALUES | WHOLE
    ),
    "text-ppo settings": Format("token_ppo", "config.json", readers.token_ppo, _JSON, BAD_NUMBERS | _VALUES | WHOLE),
    "language model weights": Format(
        samples.fine_tuning, "sft/model.safetensors", readers.language_model, _SAFETENSORS, WHOLE
    ),
    "language model settings": Format(
        samples.fine_tuning, "sft/config.json", readers.language_model, _JSON, BAD_NUMBERS | _VALUES | WHOLE
    ),
    "language model tokenizer": Format(
        samples.fine_tuning, "sft/tokenizer.json", readers.language_model, _JSON, BAD_NUMBERS | _VALUES | WHOLE
    ),
    "spa configuration": Format(
        samples.spa_configuration,
        "spa.yaml",
        readers.spa_configuration,
        _JSON,
        BAD_NUMBERS - {"NaN", "infinite", "1e999"},  # texts in YAML
    ),
    "spa turns": Format(
        samples.fine_tuning, "data/turns-00000.parquet", readers.turns, _PARQUET, WHOLE | {"column lost"}
    ),
    "spa rows": Format(samples.fine_tuning, "data/wm_train.parquet", readers.rows, _PARQUET, WHOLE),
    "spa meta": Format(samples.fine_tuning, "data/meta.json", readers.rows, _JSON, BAD_NUMBERS),
    "spa fine-tuned": Format(samples.fine_tuning, "sft/sft.json", readers.fine_tuned, _JSON, BAD_NUMBERS),
    "spa checkpoint": Format(
        samples.fine_tuning,
        "stopped.progress/*.safetensors",
        readers.stopped_fine_tuning,
        _SAFETENSORS,
        WHOLE | {*CHECKPOINT_TABLE},
    ),
    "spa checkpoint header": Format(
        samples.fine_tuning, "stopped.progress/*.json", readers.stopped_fine_tuning, _JSON, BAD_NUMBERS | _VALUES
    ),
    "sweep journal": Format(samples.sweep, "sweep/journal.log", readers.sweep, _LOG, BAD_NUMBERS | SERIES),
    "sweep setting": Format(samples.sweep, "sweep/sweep.json", readers.sweep, _JSON, BAD_NUMBERS),
    "tuned settings": Format(samples.tuned, "tuned.json", readers.tuned, _JSON, BAD_NUMBERS),
    "store list": Format(samples.stored, "store/ludory-files.json", readers.stored, _JSON, BAD_NUMBERS),
    "stored file": Format(samples.stored, "store/a.txt@*", readers.stored, ANY, WHOLE),
    "note of a store": Format(samples.mirrored, "work/*/.*.json", readers.mirrored, _JSON, BAD_NUMBERS),
    "table": Format(samples.table, "*.jsonl", readers.table, _LOG, BAD_NUMBERS | SERIES),
    "text of a visitor": Format(samples.kept_text, "*.json", readers.kept_text, _JSON, BAD_NUMBERS | _VALUES | WHOLE),
    "league head": Format("league", "head.json", readers.league, _JSON, BAD_NUMBERS),
    "league state": Format(samples.league_state, "state-*.json", readers.league_state, _JSON, BAD_NUMBERS | _VALUES),
    "texas42 quick weights": Format(samples.quick_weights, "weights.json", readers.quick_weights, _JSON, BAD_NUMBERS),
    "texas42 examples": Format(samples.quick_examples, "deals_*.npz", readers.quick_examples, _NPZ, WHOLE),
    "texas42 hand of others": Format(samples.torch_hand, "hand.pt", readers.torch_hand, ANY, WHOLE),
    "texas42 contracts": Format(samples.contracts, "*.parquet", readers.contracts, _PARQUET, WHOLE | ROWS - {"huge"}),
    "sokoban bank": Format(samples.rooms, "bank.npz", readers.rooms, _NPZ, WHOLE),
    "sokoban levels": Format(
        samples.levels, "levels.txt", readers.levels, {**ANY, **TEXT, **LINES}, frozenset({"bad UTF-8"})
    ),
    "model of SB3": Format(samples.sb3_model, "model.zip", readers.sb3_model, ANY, WHOLE),
    "GRU of HIKARU": Format(samples.gru_model, "model.pth", readers.gru_model, ANY, WHOLE),
    "options in YAML": Format(
        samples.options,
        "options.yaml",
        partial(readers.options, name="options.yaml"),
        {**ANY, **TEXT, **LINES},
        frozenset({"bad UTF-8"}),
    ),
    "options in TOML": Format(
        samples.options,
        "options.toml",
        partial(readers.options, name="options.toml"),
        {**ANY, **TEXT, **LINES},
        frozenset({"bad UTF-8"}),
    ),
    "metrics": Format(samples.metrics, "run.csv", readers.metrics, {**ANY, **TEXT, **LINES}, frozenset()),
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
