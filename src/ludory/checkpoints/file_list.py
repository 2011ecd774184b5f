"""Lists of files with their sizes and SHA-256, which lie beside copies in stores and repositories."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ludory.reading import shown

LIST = "ludory-files.json"
"""Name of the list, beside the files."""
_SHA256 = re.compile("[0-9a-f]{64}")


class StoredFile(NamedTuple):
    """An entry of the list."""

    size: int
    sha256: str

    def place(self, name: str) -> str:
        """Its path in a store."""
        return f"{name}@{self.sha256[:16]}"

    @classmethod
    def of(cls, file: Path) -> StoredFile:
        """The entry of a file of this machine."""
        return cls(file.stat().st_size, sha256_of(file))


Files = dict[str, StoredFile]
"""A list of files, by name."""


def as_json(files: Files) -> dict[str, dict[str, Any]]:
    """A list of files, to be written."""
    return {name: one._asdict() for name, one in sorted(files.items())}


def from_json(found: Mapping[str, Any]) -> Files:
    """A list of files that was written.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is none.
    """
    files = {name: StoredFile(one["size"], one["sha256"]) for name, one in found.items()}
    for name, one in files.items():
        if type(one.size) is not int or not _SHA256.fullmatch(one.sha256):
            raise ValueError(f"{name}: size {shown(one.size)}, SHA-256 {shown(one.sha256)}")
    return files


def sha256_of(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        for part in iter(lambda: handle.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()
