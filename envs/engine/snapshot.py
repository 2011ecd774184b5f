"""Engine states on disk: one .npz file without pickles, with a JSON header that names the game, written atomically."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.atomic import atomic_file
from ludory.envs.game import Game
from ludory.envs.parts import Field
from ludory.errors import SnapshotError

from .protocol import on_host
from .storage import own_fields, record_dtype, shared_arrays, state_class

FORMAT = 1
MOST_BYTES = 1 << 30
"""Larger states are read only by engines with at least as many games."""
MOST_HEADER_BYTES = 1 << 20


def identity(game: Game) -> dict[str, Any]:
    """What a snapshot stores about its game: id, options, and the hashes of shared arrays."""
    noted: dict[str, Any] = {"id": game.id or game.facts.name, "options": dict(game.options)}
    hashes = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in shared_arrays(game).items()}
    return noted | ({"shared": hashes} if hashes else {})


def _noted(option: Any) -> str:
    """What a snapshot stores about an option that JSON cannot hold, such as an array of rooms."""
    if isinstance(option, np.ndarray):
        return f"array {option.shape} {hashlib.sha256(np.ascontiguousarray(option).tobytes()).hexdigest()}"
    return repr(option)


def write_snapshot(file: str | Path, game: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write `arrays` with a header that holds `game` (id and options)."""
    header = json.dumps({"format": FORMAT, "game": dict(game)}, default=_noted)
    with atomic_file(file) as handle:
        np.savez_compressed(handle, header=np.array(header), **arrays)  # type: ignore[arg-type]


def read_snapshot(file: str | Path, game: Game, num_games: int) -> dict[str, NDArray[Any]]:
    """Arrays of a file that `write_snapshot` wrote for the same game. `check_fields` checks their values.

    Sizes are checked before anything is unpacked: more than `MOST_BYTES` is allowed only up to the engine's own number of games, `num_games`.

    Raises:
        SnapshotError: the file is missing, not a snapshot, of another format or game, too large, or a field has another shape or dtype.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            _check_header(file, json.loads(str(_unpacked(archive, "header"))), identity(game))
            names = {name.removesuffix(".npy") for name in archive.namelist()}
            forms = {name: _form(archive, name) for name in _saved(game) if name in names}
            _check_forms(game, forms)
            _check_size(file, game, forms["to_move"].shape[0], num_games)
            return {name: _unpacked(archive, name) for name in forms}
    except SnapshotError:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise SnapshotError(f"{file}: not an engine snapshot ({error}); write one with engine.save(file)") from error


def read_arrays(file: str | Path, game: Game) -> dict[str, NDArray[Any]]:
    """All arrays of a file that `write_snapshot` wrote for the same game, of an engine that checks them itself.

    Raises:
        SnapshotError: the file is missing, not a snapshot, too large, or of another format or game.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            _check_header(file, json.loads(str(_unpacked(archive, "header"))), identity(game))
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                raise SnapshotError(f"{file}: holds more than {MOST_BYTES >> 30} GiB")
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            return {name: _unpacked(archive, name) for name in names if name != "header"}
    except SnapshotError:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise SnapshotError(f"{file}: not an engine snapshot ({error}); write one with engine.save(file)") from error


class _Form(NamedTuple):
    """Shape and dtype of an array, from its header."""

    shape: tuple[int, ...]
    dtype: str


def _form(archive: zipfile.ZipFile, name: str) -> _Form:
    with archive.open(f"{name}.npy") as member:
        first = np.lib.format.read_magic(member) == (1, 0)
        shape, _, dtype = (np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0)(
            member
        )
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects")
    if name == "header" and (shape != () or dtype.itemsize > MOST_HEADER_BYTES):
        raise ValueError("its header is not a short text")
    return _Form(shape, str(dtype))


def _unpacked(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    _form(archive, name)
    with archive.open(f"{name}.npy") as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # reading to the end also compares the checksum
            raise ValueError(f"{name} continues after its last value")
    return array


def _check_header(file: str | Path, header: Any, game: Mapping[str, Any]) -> None:
    if not _names_a_game(header):
        raise SnapshotError(
            f"{file}: not an engine snapshot (its header names no game); write one with engine.save(file)"
        )
    if header.get("format") != FORMAT:
        raise SnapshotError(f"{file}: snapshot format {header.get('format')!r}, this version reads {FORMAT}")
    if header["game"] != json.loads(json.dumps(dict(game), default=_noted)):
        raise SnapshotError(
            f"{file}: saved from {_describe(header['game'])}, this engine plays {_describe(game)}; make the engine with the saved id and options"
        )


def _check_size(file: str | Path, game: Game, count: int, num_games: int) -> None:
    size = count * record_dtype(game.rules.fields).itemsize
    if size > MOST_BYTES and count > num_games:
        raise SnapshotError(
            f"{file}: holds {count} games, {size / 2**30:.1f} GiB in memory; if that is right, "
            f"make the engine that restores it with num_games={count}"
        )


def _names_a_game(header: Any) -> bool:
    game = header.get("game") if isinstance(header, dict) else None
    return isinstance(game, dict) and {"id", "options"} <= game.keys()


def _describe(game: Mapping[str, Any]) -> str:
    shared = f" and the shared arrays {game['shared']}" if "shared" in game else ""
    return f"{game['id']} with options {game['options']}{shared}"


def _saved(game: Game) -> dict[str, Field]:
    """The fields that `Engine.fields` returns."""
    return {**own_fields(game.rules.fields), "_started": Field("bool")}


def check_fields(game: Game, fields: Mapping[str, Any]) -> None:
    """Refuse arrays that are not a state of `game`: with such a state kernels would read and write outside their arrays.

    Raises:
        SnapshotError: a field is missing, has another shape or dtype, or a value out of bounds; or fields contradict each other.
    """
    _check_forms(
        game,
        {
            name: _Form(tuple(values.shape), str(values.dtype).removeprefix("torch."))
            for name, values in fields.items()
            if name in _saved(game)
        },
    )
    arrays = {name: on_host(fields[name]) for name in _saved(game)}
    for name, spec in _saved(game).items():
        _check_bounds(game, name, spec, arrays[name])
    if game.rules.consistent is not None:
        known = arrays | shared_arrays(game)
        state = state_class(tuple(game.rules.fields))(*(known[name] for name in game.rules.fields))
        sound = game.rules.consistent(state) | ~arrays["_started"]
        if not sound.all():
            raise SnapshotError(
                f"{game.facts.name}: the saved fields of game {int(sound.argmin())} contradict each other; {_DAMAGED}"
            )


_DAMAGED = "the state is of another version or damaged"


def _check_forms(game: Game, forms: Mapping[str, _Form]) -> None:
    count = forms["to_move"].shape[:1] if "to_move" in forms else ()
    for name, spec in _saved(game).items():
        if name not in forms:
            raise SnapshotError(f"{game.facts.name}: the saved state lacks the field {name!r}; {_DAMAGED}")
        right = _Form((*count, *spec.shape), spec.dtype)
        if forms[name] != right or not count:
            raise SnapshotError(
                f"{game.facts.name}: the saved field {name!r} is {forms[name].dtype} {forms[name].shape}, "
                f"must be {right.dtype} {right.shape}; {_DAMAGED}"
            )


def _check_bounds(game: Game, name: str, spec: Field, values: NDArray[Any]) -> None:
    low, high = spec.low, spec.high
    if spec.dtype == "bool":  # a byte that is neither 0 nor 1 would count as both True and False
        values, low, high = values.view(np.uint8), 0, 1
    wrong = ~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if low is not None:
        wrong |= values < low
    if high is not None:
        wrong |= values > high
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        ends = [None if end is None else np.broadcast_to(end, values.shape)[place] for end in (low, high)]
        where = f"{list(map(int, place[1:]))} " if place[1:] else ""
        raise SnapshotError(
            f"{game.facts.name}: the saved field {name!r} {where}of game {place[0]} is {values[place]}, "
            f"must be {_range_words(*ends)}; {_DAMAGED}"
        )


def _range_words(low: Any, high: Any) -> str:
    if low is None and high is None:
        return "finite"
    if high is None or low is None:
        return f"at least {low}" if high is None else f"at most {high}"
    return f"{low}" if low == high else f"from {low} to {high}"
