"""`KeptTexts`: what visitors paste or ask, kept in files that are named by their content, so that it has an address."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from ludory.atomic import atomic_file
from ludory.errors import DataError, UnknownIdError

MOST_KEPT = 500
"""Texts of a kind that are kept; the oldest go first."""


class KeptTexts:
    """Texts of one kind in a folder.

    Args:
        folder: created with the first text.
        kind: letter that the ids of this kind begin with.
        missing: what to say where there is no text of an id.
    """

    def __init__(self, folder: Path, kind: str, missing: str) -> None:
        self._folder, self._kind, self._missing = folder, kind, missing

    def add(self, text: str) -> str:
        """Keep a text; returns its id, such as s-0123456789abcdef."""
        id = self._id(text.encode())
        self._folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(self._folder / f"{id}.json") as handle:
            handle.write(text.encode())
        kept = sorted(self._folder.glob(f"{self._kind}-*.json"), key=lambda file: file.stat().st_mtime)
        for file in kept[:-MOST_KEPT]:
            with suppress(OSError):
                file.unlink()
        return id

    def file(self, id: str) -> Path:
        """The file of an id.

        Raises:
            UnknownIdError: there is none.
            DataError: it does not hold the text that was kept under this id.
        """
        file = self._folder / f"{id}.json"
        if not re.fullmatch(rf"{self._kind}-[0-9a-f]{{16}}", id) or not file.is_file():
            raise UnknownIdError(self._missing)
        if self._id(file.read_bytes()) != id:
            raise DataError(
                f"{file}: damaged: it is not the text that was kept; remove the file, and type or paste it again"
            )
        return file

    def _id(self, text: bytes) -> str:
        return f"{self._kind}-{hashlib.sha256(text).hexdigest()[:16]}"
