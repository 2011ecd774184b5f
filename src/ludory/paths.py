"""Paths named in files, which must stay within the folder of the file, and folders that are gone with an object."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from os import PathLike
from pathlib import Path

from .errors import DataError, LudoryError, OptionError

__all__ = [
    "OwnFolder",
    "as_path",
    "path_inside",
]


def as_path(file: object) -> Path:
    """`file`, a string or path, as a `Path`.

    Raises:
        OptionError: it is neither, such as an open file.
    """
    if not isinstance(file, str | PathLike):
        raise OptionError(f"got {file!r}: must be a path, such as 'runs/model.ludory'; open files are not taken")
    return Path(file)


def path_inside(folder: str | Path, name: object, named_by: object, error: type[LudoryError] = DataError) -> Path:
    """`folder / name`, for a log, manifest or catalogue that names a file of its folder.

    Files made by others may contain any name, so these may be opened, overwritten or removed only within their folder.

    Args:
        folder: must contain the file.
        name: relative to the folder; the file need not exist.
        named_by: the file that names it, for the error.
        error: class of the error.

    Raises:
        LudoryError: of class `error`: the name is not a string, is absolute, contains `..`, or leads outside by a symbolic link.
    """
    problem = _problem(Path(folder), name)
    if problem:
        raise error(f"{named_by}: names the file {name!r}, which {problem}; must be a file inside {folder}")
    return Path(folder) / str(name)


class OwnFolder:
    """A temporary folder that exists as long as `owner`."""

    def __init__(self, owner: object, prefix: str = "ludory-") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self.remove = weakref.finalize(owner, shutil.rmtree, self.path, ignore_errors=True)


def _problem(folder: Path, name: object) -> str | None:
    if not isinstance(name, str) or not name or "\0" in name:
        return "is no name of a file"
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return "lies outside"
    try:
        inside = (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # RuntimeError: symbolic links in a circle, before Python 3.13
        return "cannot be followed"
    return None if inside else "leads outside through a symbolic link"
