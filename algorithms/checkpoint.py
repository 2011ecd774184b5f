"""A checkpoint is one file without pickles: tensors as safetensors, everything else as a JSON header. Loading runs no code from it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from ludory.agents.networks.build import PolicySpec, parse_policy
from ludory.atomic import atomic_file
from ludory.errors import CheckpointError, OptionError, PluginError, UnknownIdError
from ludory.reading import parse_json

FORMAT = 2
KEY = "ludory"
CHECKSUMS = "sha256"
"""Where the header has those of its other fields and of the tensors."""
LIBRARIES = ("ludory", "torch", "numpy", "numba")


class Checkpoint(NamedTuple):
    """Header (JSON values) and tensors by name."""

    header: dict[str, Any]
    tensors: dict[str, Tensor]


def write_checkpoint(file: str | Path, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write one file, atomically; library versions and checksums are added to the header.

    Raises:
        OutputError: the place can not be written to.
    """
    versions = {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    known = json.loads(json.dumps({"format": FORMAT, "versions": versions} | dict(header)))
    known[CHECKSUMS] = {"header": _header_hash(known), "tensors": weights_hash(weights)}
    data = save(weights, {KEY: json.dumps(known)})
    with atomic_file(file) as handle:
        handle.write(data)


def install_hint(header: Mapping[str, Any], kind: str) -> str:
    """What to type where the game, network or algorithm of a checkpoint is not installed; "" where the file does not say."""
    package = header.get("packages", {}).get(kind)
    return f'; type: pip install "{package}"' if package else ""


def saved_policy(file: str | Path, header: Mapping[str, Any]) -> PolicySpec:
    """The network that a checkpoint names.

    Raises:
        CheckpointError: its package is not installed, or of a version that has no such argument.
    """
    spec = PolicySpec(**header["policy"])
    try:
        return parse_policy(spec)
    except (UnknownIdError, OptionError, PluginError) as error:
        raise CheckpointError(
            f"{file}: its network is {spec.id!r}, which cannot be made here: {error}{install_hint(header, 'network')}"
        ) from error


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
    if with_tensors and CHECKSUMS in header and _checksum(header, "tensors") != weights_hash(tensors):
        raise _damaged(file, "tensors")
    return Checkpoint(header, tensors)


def _parse_header(file: str | Path, text: str | None) -> dict[str, Any]:
    try:
        header = parse_json(text or "")
        found = header["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(
            f"{file}: a safetensors file, but not a checkpoint of Ludory (no {KEY!r} header)"
        ) from error
    if found != FORMAT:
        raise CheckpointError(
            f"{file}: checkpoint format {found!r}, this version reads {FORMAT}; install a matching ludory"
        )
    # Files of earlier versions have no checksums.
    if CHECKSUMS in header and _checksum(header, "header") != _header_hash(header):
        raise _damaged(file, "header")
    return dict(header)


def _damaged(file: str | Path, part: str) -> CheckpointError:
    return CheckpointError(
        f"{file}: damaged: its {part} do not have the checksum that was written with them; nothing was loaded; take a copy or an earlier file"
    )


def _checksum(header: Mapping[str, Any], part: str) -> Any:
    known = header[CHECKSUMS]
    return known.get(part) if isinstance(known, dict) else None


def _header_hash(header: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in header.items() if name != CHECKSUMS}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def weights_hash(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of tensors, in order of names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        # a copy: a tensor of one row counts as contiguous with any stride, but cannot be viewed as bytes
        tensor = weights[name].detach().cpu().clone(memory_format=torch.contiguous_format)
        digest.update(f"{name} {str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
