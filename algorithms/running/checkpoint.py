"""Checkpoints: one file, or a folder for learners that need several files. There are no pickles; loading runs no code.

A file holds tensors as safetensors, with everything else as a JSON header. A folder `NAME.ludory/`, such as that of a language model with its
tokenizer, holds `header.json`, the tensors of the run in `run.safetensors`, and the files that the learner writes itself. It is written under
another name and moved into place. Headers contain library versions and SHA-256 checksums of themselves and of everything beside them.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor
from torch.optim import Adam

from ludory.agents.networks.build import PolicySpec, parse_policy
from ludory.atomic import atomic_file, atomic_folder, settled_folder
from ludory.errors import CheckpointError, OptionError, PluginError, UnknownIdError
from ludory.plugins.spec import FOLDER_HEADER
from ludory.reading import parse_json

KEY = "ludory"
"""Key of the header in the metadata of a safetensors file."""
TENSORS = "run.safetensors"
"""File of the tensors in a folder."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""Adam's state of a parameter."""
FORMAT = 2
CHECKSUMS = "sha256"
"""Field of the header with the checksums of its other fields and of what lies beside it."""
LIBRARIES = ("ludory", "torch", "numpy", "numba")


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
    finished = _finished_header(header, tensors=weights_hash(weights))
    data = save(weights, {KEY: json.dumps(finished)})
    with atomic_file(file) as handle:
        handle.write(data)


def write_folder(
    path: str | Path,
    header: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    write_files: Callable[[Path], None],
) -> None:
    """Write a folder with a header, tensors, and what `write_files` writes into the folder that it is given; all of it or nothing.

    Raises:
        OutputError: the place cannot be written to, or there is a file of that name; what was there before stays.
    """
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_folder(path) as folder:
        write_files(folder)
        (folder / TENSORS).write_bytes(save(weights))
        finished = _finished_header(header, files={name: _file_hash(folder / name) for name in _names(folder)})
        (folder / FOLDER_HEADER).write_text(json.dumps(finished, indent=2) + "\n", encoding="utf-8")


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
    if _is_folder(file):
        return Checkpoint(*_read_folder(file, with_tensors))
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
    if with_tensors and CHECKSUMS in header and _checksum_of(header, "tensors") != weights_hash(tensors):
        raise _damaged(file, "tensors")
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


def _is_folder(path: str | Path) -> bool:
    """Whether a path is a folder; then the checkpoint is one."""
    return settled_folder(path).is_dir()


def _read_folder(path: str | Path, with_tensors: bool) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors; with the tensors, every file is compared with its checksum.

    Raises:
        CheckpointError: no checkpoint, or damaged, naming the file.
    """
    folder = Path(path)
    header = _parse_header(path, _read(folder, FOLDER_HEADER), f"a folder with {FOLDER_HEADER}")
    files = _checksum_of(header, "files")
    if not isinstance(files, dict) or TENSORS not in files:
        raise _damaged(path, "list of files")
    if not with_tensors:
        return header, {}
    for name, checksum in files.items():
        if not _is_inside(folder, name) or _file_hash(folder / name) != checksum:
            raise _damaged(path, f"bytes of {name!r}")
    try:
        return header, load(_read(folder, TENSORS))
    except SafetensorError as error:
        raise _damaged(path, f"bytes of {TENSORS!r}") from error


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{folder}: a folder without a readable {name} ({error.strerror}), so not a checkpoint of Ludory; nothing was loaded"
        ) from error


def _names(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def _is_inside(folder: Path, name: object) -> bool:
    """Whether it is a plain file of the folder: a header may name anything."""
    if not isinstance(name, str):
        return False
    file = folder / name
    return file.is_file() and file.resolve().is_relative_to(folder.resolve())


def _file_hash(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        for part in iter(lambda: handle.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


def _finished_header(header: Mapping[str, Any], **checksums: Any) -> dict[str, Any]:
    """`header` as JSON values, with format, library versions and checksums: its own, and those of what lies beside it."""
    versions = {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}
    finished: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "versions": versions} | dict(header)))
    finished[CHECKSUMS] = {"header": _header_hash(finished), **checksums}
    return finished


def _parse_header(file: str | Path, text: str | bytes | None, what: str = "a safetensors file") -> dict[str, Any]:
    """The header in `text`; `what` the file is, if it is no checkpoint.

    Raises:
        CheckpointError: it is none, of another format, or damaged.
    """
    try:
        header = parse_json(text or "")
        found = header["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{file}: {what}, but not a checkpoint of Ludory (no 'ludory' header)") from error
    if found != FORMAT:
        raise CheckpointError(
            f"{file}: checkpoint format {found!r}, this version reads {FORMAT}; install a matching ludory"
        )
    # Files of earlier versions have no checksums.
    if CHECKSUMS in header and _checksum_of(header, "header") != _header_hash(header):
        raise _damaged(file, "header")
    return dict(header)


def _damaged(file: str | Path, part: str) -> CheckpointError:
    """The error that says which part of a checkpoint is not as it was written."""
    return CheckpointError(
        f"{file}: damaged: its {part} do not have the checksum that was written with them; nothing was loaded; take a copy or an earlier file"
    )


def _checksum_of(header: Mapping[str, Any], part: str) -> Any:
    """The checksum that a header has for a part, None if it has none."""
    checksums = header[CHECKSUMS]
    return checksums.get(part) if isinstance(checksums, dict) else None


def _header_hash(header: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in header.items() if name != CHECKSUMS}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def save_adam(optimizer: Adam) -> dict[str, Tensor]:
    """Adam's moments as named tensors, one per parameter and moment; empty before the first step."""
    states = optimizer.state_dict()["state"]
    return {f"adam/{index}/{name}": state[name] for index, state in states.items() for name in MOMENTS}


def load_adam(optimizer: Adam, tensors: dict[str, Tensor]) -> None:
    """Restore what `save_adam` returned; other tensors are ignored."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith("adam/"):
            _, index, name = key.split("/")
            state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
