"""`Flaw`: something in a file that is not as it must be; `Flaws`: stop at the first one, or list them all."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ludory.errors import DataError


class Flaw(NamedTuple):
    """What is wrong, and where."""

    path: str
    line: int | None
    """Counted from 1; None: the whole file."""
    field: str
    """Path of the field in the line, such as "observation.self_state.hp"."""
    got: str
    wanted: str

    def __str__(self) -> str:
        """One line that names path, line and field."""
        place = "" if self.line is None else f", line {self.line}"
        return f"{self.path}{place}, field {self.field!r}: got {self.got}, must be {self.wanted}"


class FieldError(Exception):
    """A field of the line in hand is wrong; whoever reads the file makes it a `Flaw`."""

    def __init__(self, field: str, got: str, wanted: str) -> None:
        super().__init__(field, got, wanted)
        self.field, self.got, self.wanted = field, got, wanted


class Flaws:
    """The flaws of some files.

    Args:
        skip_bad: list them in `found` instead of stopping at the first one.
    """

    def __init__(self, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self.found: list[Flaw] = []

    def add(self, path: str | Path, line: int | None, field: str, got: str, wanted: str) -> None:
        """Note one.

        Raises:
            DataError: `skip_bad` is not set; its `problem` is the `Flaw`.
        """
        flaw = Flaw(str(path), line, field, got, wanted)
        if not self.skip_bad:
            raise DataError(flaw)
        self.found.append(flaw)
