"""A checkpoint is one file without pickles: tensors as safetensors, everything else as a JSON header. Loading runs no code from it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ludory.atomic import atomic_file
from ludory.errors import CheckpointError

FORMAT = 2
KEY = "ludory"
LIBRARIES = ("ludory", "torch", "numpy", "numba")


class Checkpoint(NamedTuple):
    """Header (JSON values) and tensors by name."""

    header: dict[str, Any]
    tensors: dict[str, Tensor]


def write_checkpoint(file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write one file, atomically; library versions are added to the header.

    Raises:
        OutputError: the place can not be written to.
    """
    versions = {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}
    text = json.dumps({"format": FORMAT, "versions": versions} | dict(header))
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {KEY: text})
    with atomic_file(file) as handle:
        handle.write(data)


def read_header(file: str | Path) -> dict[str, Any]:
    """The JSON header of a checkpoint.

    Raises:
        CheckpointError: missing, damaged, not written by Ludory, or of a newer format.
    """
    return _open(file, with_tensors=False).header


def read_checkpoint(file: str | Path) -> Checkpoint:
    """Header and tensors (on the CPU).

    Raises:
        CheckpointError: missing, damaged, not written by Ludory, or of a newer format.
    """
    return _open(file, with_tensors=True)


def _open(file: str | Path, with_tensors: bool) -> Checkpoint:
    try:
        with safe_open(str(file), framework="pt") as archive:
            header = _parse_header(file, (archive.metadata() or {}).get(KEY))
            tensors = {name: archive.get_tensor(name) for name in archive.keys()} if with_tensors else {}  # noqa: SIM118
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: no such file; train one with `ludory train`") from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{file}: not a checkpoint of Ludory, or damaged ({error}); nothing was loaded"
        ) from error
    return Checkpoint(header, tensors)


def _parse_header(file: str | Path, text: str | None) -> dict[str, Any]:
    try:
        header = json.loads(text or "")
        found = header["format"]
    except (json.JSONDecodeError, TypeError, KeyError) as error:
        raise CheckpointError(
            f"{file}: a safetensors file, but not a checkpoint of Ludory (no {KEY!r} header)"
        ) from error
    if found != FORMAT:
        raise CheckpointError(
            f"{file}: checkpoint format {found!r}, this version reads {FORMAT}; install a matching ludory"
        )
    return dict(header)
