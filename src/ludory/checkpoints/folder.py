"""Checkpoints that are folders, for models of more than one file, such as language models with a tokenizer.

A folder holds `ludory.json`, the header, the tensors of the run in one file, and whatever files the learner writes itself, weights as
safetensors. The header has the SHA-256 of every file. The folder is written under another name and moved into place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ludory.atomic import atomic_folder, settled_folder
from ludory.errors import CheckpointError
from ludory.plugins.spec import FOLDER_HEADER
from ludory.reading import read_json

from .file_list import sha256_of
from .header import checksum_of, damaged, finished_header, parse_header

HEADER, TENSORS = FOLDER_HEADER, "run.safetensors"
SUMS = "checksums.json"
"""The SHA-256 of every file, in a folder without a header."""


def is_folder(path: str | Path) -> bool:
    """Whether a path is a folder, which a checkpoint then must be."""
    return settled_folder(path).is_dir()


def write_folder(
    path: str | Path,
    header: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    write_files: Callable[[Path], None],
    tensors_file: str = TENSORS,
) -> None:
    """Write a folder with a header, tensors, and what `write_files` writes into the folder that it is given; all of it or nothing.

    `tensors_file` is the name of the file with the tensors; the header has it.

    Raises:
        OutputError: the place cannot be written to, or there is a file of that name; what was there before stays.
    """
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_folder(path) as folder:
        write_files(folder)
        (folder / tensors_file).write_bytes(save(weights))
        named = header if tensors_file == TENSORS else {**header, "tensors": tensors_file}
        known = finished_header(named, files={name: sha256_of(folder / name) for name in _names(folder)})
        (folder / HEADER).write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


def read_folder(path: str | Path, with_tensors: bool) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors; with the tensors, every file is compared with its checksum.

    Raises:
        CheckpointError: no checkpoint, or damaged, naming the file.
    """
    folder = Path(path)
    header = parse_header(path, _read(folder, HEADER), f"a folder with {HEADER}")
    files = checksum_of(header, "files")
    name_of_tensors = header.get("tensors", TENSORS)
    if not isinstance(files, dict) or name_of_tensors not in files:
        raise damaged(path, "list of files")
    if not with_tensors:
        return header, {}
    _check_files(folder, files)
    try:
        return header, load(_read(folder, name_of_tensors))
    except SafetensorError as error:
        raise damaged(path, f"bytes of {name_of_tensors!r}") from error


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files into a folder that is no checkpoint."""
    (folder / SUMS).write_text(
        json.dumps({name: sha256_of(folder / name) for name in _names(folder)}, indent=1) + "\n", encoding="utf-8"
    )


def check_checksums(folder: Path) -> None:
    """Compare the files of a folder with its checksums, if it has some.

    Raises:
        CheckpointError: one is damaged or missing.
    """
    if (folder / HEADER).exists():
        read_folder(folder, with_tensors=True)
    if not (folder / SUMS).exists():
        return
    try:
        files = read_json(folder / SUMS)
        _check_files(folder, dict(files))
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(f"{error}; if another program changed the folder, remove {folder / SUMS}") from error


def _check_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, known in files.items():
        if not _is_inside(folder, name) or sha256_of(folder / name) != known:
            raise damaged(folder, f"bytes of {name!r}")


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
