"""The JSON header of a checkpoint, which is the same in files and folders: what wrote it, and checksums."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ludory.errors import CheckpointError
from ludory.reading import parse_json

FORMAT = 2
CHECKSUMS = "sha256"
"""Where the header has those of its other fields and of what lies beside it."""
LIBRARIES = ("ludory", "torch", "numpy", "numba")
"""Whose versions a header names."""


def finished_header(header: Mapping[str, Any], **checksums: Any) -> dict[str, Any]:
    """`header` as JSON values, with format, library versions and checksums: its own, and those of what lies beside it."""
    versions = {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}
    known: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "versions": versions} | dict(header)))
    known[CHECKSUMS] = {"header": _hash(known), **checksums}
    return known


def parse_header(file: str | Path, text: str | bytes | None, what: str = "a safetensors file") -> dict[str, Any]:
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
    if CHECKSUMS in header and checksum_of(header, "header") != _hash(header):
        raise damaged(file, "header")
    return dict(header)


def damaged(file: str | Path, part: str) -> CheckpointError:
    """The error that says which part of a checkpoint is not as it was written."""
    return CheckpointError(
        f"{file}: damaged: its {part} do not have the checksum that was written with them; nothing was loaded; take a copy or an earlier file"
    )


def checksum_of(header: Mapping[str, Any], part: str) -> object:
    """The checksum that a header has for a part, None if it has none."""
    known = header.get(CHECKSUMS)
    return known.get(part) if isinstance(known, dict) else None


def _hash(header: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in header.items() if name != CHECKSUMS}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
