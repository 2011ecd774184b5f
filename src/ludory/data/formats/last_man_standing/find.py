"""Which files there are: by their names, in folders, by patterns; and where else there are some."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from ludory.errors import DataError

from . import feedback, manifest, recorder
from .flaw import Flaw

KINDS = {recorder.SOURCE: recorder.PATTERN, feedback.SOURCE: feedback.NAME, "manifest": manifest.NAME}
"""Pattern of the file names of every kind."""
WILD = "*?["
MOST_FOLDERS = 2000
"""So many folders are looked at for a hint."""
LEVELS_UP = 2


def find(paths: Sequence[str | Path]) -> dict[str, list[Path]]:
    """The files of each kind: those named, those below the folders named, those that patterns such as "runs/*/ep_*.jsonl.gz" match.

    Raises:
        DataError: nothing is found for a path, naming the patterns and the nearest folder that has such files; or a file of no kind.
    """
    files: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in paths:
        for file in _files(Path(path)):
            files[_kind(file)].append(file)
    return {kind: sorted(set(found)) for kind, found in files.items()}


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        found, pattern = [file for file in path.rglob("*") if file.is_file() and _is_known(file)], _patterns()
    else:
        found, pattern = [file for file in _matches(path) if file.is_file()], str(path)
    if not found:
        raise DataError(_nothing(path, pattern))
    return found


def _matches(path: Path) -> Iterator[Path]:
    parts = path.parts
    wild = next((number for number, part in enumerate(parts) if set(part) & set(WILD)), None)
    if wild is not None:
        yield from Path(*parts[:wild]).glob(str(Path(*parts[wild:])))


def _is_known(file: Path) -> bool:
    return any(fnmatch(file.name, pattern) for pattern in KINDS.values())


def _kind(file: Path) -> str:
    for kind, pattern in KINDS.items():
        if fnmatch(file.name, pattern):
            return kind
    raise DataError(Flaw(str(file), None, "file", f"the name {file.name}", f"a file called {_patterns()}"))


def _patterns() -> str:
    *most, last = KINDS.values()
    return f"{', '.join(most)} or {last}"


def _nothing(path: Path, pattern: str) -> Flaw:
    got = "an empty folder" if path.is_dir() and not any(path.iterdir()) else "no such file"
    near = _nearest(path)
    hint = f"; the nearest folder with such files is {near}" if near else ""
    return Flaw(
        str(path), None, "path", f"{got} for {pattern}", f"a file or folder with files called {_patterns()}{hint}"
    )


def _nearest(path: Path) -> Path | None:
    """The folder with such files that is fewest steps away, looked for up to two levels above what exists of `path`."""
    here = path.absolute()
    while not here.is_dir():
        here = here.parent
    for above in [here, *here.parents][: LEVELS_UP + 1]:
        for folder in _folders(above):
            if any(_is_known(Path(entry.name)) and entry.is_file() for entry in os.scandir(folder)):
                return folder
    return None


def _folders(top: Path) -> Iterator[Path]:
    """`top` and the folders below it, nearer ones first."""
    waiting, seen = [top], 0
    while waiting and seen < MOST_FOLDERS:
        folder = waiting.pop(0)
        seen += 1
        try:
            inner = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
        except OSError:
            continue
        yield folder
        waiting += [folder / name for name in inner if not name.startswith(".")]
