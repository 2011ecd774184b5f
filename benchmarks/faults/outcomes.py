"""Results of jobs in comparable parts, without what may differ between equal runs: times, hashes of files with times, versions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from safetensors.torch import load_file

from ludory.algorithms.league.log.events import read_events, standing
from ludory.checkpoints.checkpoint import read_checkpoint

from .findings import Items

TIMES = ("wall_time", "seconds", "sha256", "date", "commit", "machine", "load", "created", "time", "cpu_s")
"""Names of fields with times, durations or places, or with hashes of those."""


def digest(value: object) -> str:
    """A short digest of bytes, or of the `repr` of a value."""
    return hashlib.sha256(value if isinstance(value, bytes) else repr(value).encode()).hexdigest()[:16]


def weights(file: Path) -> Items:
    """Every tensor of a checkpoint, and its number of decisions."""
    return [*tensors(file), (f"{file.name}:num_timesteps", str(read_checkpoint(file).header.get("num_timesteps")))]


def tensors(file: Path) -> Items:
    """Every tensor of a safetensors file."""
    found = load_file(file)
    return [(f"{file.name}:{name}", digest(found[name].numpy().tobytes())) for name in sorted(found)]


def recorded_games(folder: Path) -> Items:
    """Every game of a recording; a game whose rows are not consecutive appears several times."""
    items: Items = []
    for file in sorted(folder.glob("part-*.parquet")):
        rows, before = pq.read_table(file).to_pylist(), None
        kept: list[Any] = []
        for row in [*rows, {"game": None}]:
            if row["game"] != before and kept:
                items.append((f"game {before}", digest(kept)))
                kept = []
            before = row["game"]
            kept.append(row)
    return items


def tables(folder: Path) -> Items:
    """The columns of every Parquet file below a folder."""
    return [
        (str(file.relative_to(folder)), digest(pq.read_table(file).to_pydict()))
        for file in sorted(folder.rglob("*.parquet"))
    ]


def json_lines(file: Path) -> Items:
    """Every line without times, by its content; repeated lines are repeated."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [(text, text) for text in (json.dumps(timeless(json.loads(line)), sort_keys=True) for line in lines)]


def json_file(file: Path) -> Items:
    """The outermost entries of a JSON file, without times."""
    content = timeless(json.loads(file.read_text(encoding="utf-8")))
    parts = content.items() if isinstance(content, dict) else enumerate(content)
    return [(f"{file.name}:{name}", digest(json.dumps(part, sort_keys=True))) for name, part in parts]


def league(folder: Path) -> Items:
    """The valid events in order, and the weights of all frozen players."""
    events = [event for event in standing(read_events(folder)) if event.type != "resumed"]
    items = [(f"event {k}", digest((event.type, timeless(event.body)))) for k, event in enumerate(events)]
    for event in events:
        if event.type == "snapshot":
            items += weights(folder / event.body["file"])
    return items


def trials(folder: Path) -> Items:
    """The finished trials of a sweep in their order, with their settings and scores."""
    from ludory.benchmarks.sweep.study import open_study

    found = [one for one in open_study(folder).get_trials() if one.state.name in ("COMPLETE", "PRUNED")]
    return [
        (f"trial {k}", digest((one.state, sorted(one.params.items()), sorted(one.intermediate_values.items()))))
        for k, one in enumerate(found)
    ]


def timeless(content: Any) -> Any:
    """JSON without the fields of `TIMES`, at any depth."""
    if isinstance(content, Mapping):
        return {
            name: timeless(value)
            for name, value in content.items()
            if not any(name == word or name.endswith(f"_{word}") for word in TIMES)
        }
    return [timeless(value) for value in content] if isinstance(content, list | tuple) else content


def files(folder: Path) -> list[str]:
    """Names of all files below a folder, including hidden ones."""
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if not file.is_dir())
