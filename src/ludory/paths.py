"""Names that a file gives: they lead into its own folder, or they are refused."""

from __future__ import annotations

from pathlib import Path

from .errors import DataError, LudoryError


def path_inside(folder: str | Path, name: object, named_by: object, error: type[LudoryError] = DataError) -> Path:
    """`folder / name`, where a log, a manifest or a catalogue names a file of its folder.

    Files that others made may name anything; what they name is opened, overwritten or removed only inside their folder.

    Args:
        folder: that must hold the file.
        name: relative to the folder; the file need not exist.
        named_by: the file that names it, for the error.
        error: class of the error.

    Raises:
        LudoryError: of the class `error`: the name is no text, is absolute, climbs with `..`, or leads outside through a symbolic link.
    """
    problem = _problem(Path(folder), name)
    if problem:
        raise error(f"{named_by}: names the file {name!r}, which {problem}; must be a file inside {folder}")
    return Path(folder) / str(name)


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
