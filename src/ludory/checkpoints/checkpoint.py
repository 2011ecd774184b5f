"""A checkpoint is one file without pickles: tensors as safetensors, everything else as a JSON header. Loading runs no code from it.

Learners that need more than one file write a folder instead, see `folder.py`; both are read here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ludory.atomic import atomic_file
from ludory.errors import CheckpointError

from .folder import is_folder, read_folder
from .header import CHECKSUMS, checksum_of, damaged, finished_header, parse_header
from .hub import local_path

KEY = "ludory"
"""Where a safetensors file has the header."""


class Checkpoint(NamedTuple):
    """Header (JSON values) and tensors by name."""

    header: dict[str, Any]
    tensors: dict[str, Tensor]


def write_checkpoint(file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write one file, atomically; library versions and checksums are added to the header.

    Raises:
        OutputError: the place cannot be written to.
    """
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    known = finished_header(header, tensors=weights_hash(weights))
    data = save(weights, {KEY: json.dumps(known)})
    with atomic_file(file) as handle:
        handle.write(data)


def install_hint(header: Mapping[str, Any], kind: str) -> str:
    """What to type where the game, network or algorithm of a checkpoint is not installed; "" where the file does not say."""
    package = header.get("packages", {}).get(kind)
    return f'; type: pip install "{package}"' if package else ""


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
    file = local_path(file)
    if is_folder(file):
        return Checkpoint(*read_folder(file, with_tensors))
    try:
        with safe_open(str(file), framework="pt") as archive:
            header = parse_header(file, (archive.metadata() or {}).get(KEY))
            tensors = {name: archive.get_tensor(name) for name in archive.keys()} if with_tensors else {}  # noqa: SIM118
    except FileNotFoundError as error:
        named = f"{file}.ludory"
        hint = f"did you mean {named}?" if Path(named).exists() else "train one with `ludory train`"
        raise CheckpointError(f"{file}: no such file; {hint}") from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{file}: not a checkpoint of Ludory, or damaged ({error}); nothing was loaded"
        ) from error
    if with_tensors and CHECKSUMS in header and checksum_of(header, "tensors") != weights_hash(tensors):
        raise damaged(file, "tensors")
    return Checkpoint(header, tensors)


def weights_hash(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of tensors, in order of names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        # a copy: a tensor of one row counts as contiguous with any stride, but cannot be viewed as bytes
        tensor = weights[name].detach().cpu().clone(memory_format=torch.contiguous_format)
        digest.update(f"{name} {str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
