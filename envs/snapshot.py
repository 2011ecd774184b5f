"""Engine states on disk: one .npz file without pickles, a JSON header that names the game, written atomically."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.errors import SnapshotError

from .game import Field, Game

FORMAT = 1


def identity(game: Game) -> dict[str, Any]:
    """What a snapshot notes of its game: id and options."""
    return {"id": game.id or game.facts.name, "options": dict(game.options)}


def write_snapshot(file: str | Path, game: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `arrays` with a header that holds `game` (id and options)."""
    header = json.dumps({"format": FORMAT, "game": dict(game)})
    with atomic_file(file) as handle:
        np.savez_compressed(handle, header=np.array(header), **arrays)  # type: ignore[arg-type]


def read_snapshot(file: str | Path, game: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Arrays of a file that `write_snapshot` wrote for the same game.

    Raises:
        SnapshotError: the file is missing, not a snapshot, of another format or of another game.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            header = json.loads(str(archive["header"]))
            arrays = {name: archive[name] for name in archive.files if name != "header"}
    except (
        OSError,
        ValueError,
        KeyError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        TypeError,
        AttributeError,
    ) as error:
        raise SnapshotError(f"{file}: not an engine snapshot ({error}); write one with engine.save(file)") from error
    if not _names_a_game(header):
        raise SnapshotError(
            f"{file}: not an engine snapshot (its header names no game); write one with engine.save(file)"
        )
    if header.get("format") != FORMAT:
        raise SnapshotError(f"{file}: snapshot format {header.get('format')!r}, this version reads {FORMAT}")
    if header["game"] != json.loads(json.dumps(dict(game))):
        raise SnapshotError(
            f"{file}: saved from {_describe(header['game'])}, this engine plays {_describe(game)}; make the engine with the saved id and options"
        )
    return arrays


def _names_a_game(header: Any) -> bool:
    game = header.get("game") if isinstance(header, dict) else None
    return isinstance(game, dict) and {"id", "options"} <= game.keys()


def _describe(game: Mapping[str, Any]) -> str:
    return f"{game['id']} with options {game['options']}"


def check_fields(game: Game, fields: Mapping[str, Any]) -> None:
    """Refuse arrays that are not the state of some number of games of `game`.

    Raises:
        SnapshotError: a field is missing, or has another shape or dtype.
    """
    count = len(fields.get("to_move", ()))
    for name, spec in {**game.fields, "_started": Field("bool")}.items():
        if name not in fields:
            raise SnapshotError(
                f"{game.facts.name}: the saved state lacks the field {name!r}; it is of another version or damaged"
            )
        shape, dtype = tuple(fields[name].shape), str(fields[name].dtype).removeprefix("torch.")
        if (shape, dtype) != ((count, *spec.shape), spec.dtype):
            raise SnapshotError(
                f"{game.facts.name}: the saved field {name!r} is {dtype} {shape}, must be {spec.dtype} {(count, *spec.shape)}; "
                "it is of another version or damaged"
            )
