"""What lies below the folders that pages may read. Everything is found by a walk and looked up by its key, never by joining a path."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DEEPEST, MOST = 8, 20_000
"""Limits of a walk: levels of folders, and entries in all."""


class FolderEntries(NamedTuple):
    """A folder and the files directly in it, by name; symbolic links are left out."""

    path: Path
    key: str
    """Path from the top with slashes; "" for the top itself."""
    files: dict[str, os.stat_result]


def walk(top: Path | None, is_leaf: frozenset[str] = frozenset()) -> Iterator[FolderEntries]:
    """Yield the folders below `top`, in order of their names; nothing where there is no such folder.

    Symbolic links are not followed, hidden folders and what lies below a folder with a file of `is_leaf` is left out.
    """
    if top is None or not top.is_dir():
        return
    left = MOST
    waiting = [(top, "", 0)]
    while waiting:
        folder, key, depth = waiting.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:  # removed, or not ours to read
            continue
        left -= len(entries)
        if left < 0:
            return
        files, folders = dict[str, os.stat_result](), []
        for entry in entries:
            try:
                if entry.is_file(follow_symlinks=False):
                    files[entry.name] = entry.stat(follow_symlinks=False)
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and depth < DEEPEST:
                    folders.append((Path(entry.path), f"{key}/{entry.name}" if key else entry.name, depth + 1))
            except OSError:
                continue
        yield FolderEntries(folder, key, files)
        # what lies in a leaf belongs to it
        if not is_leaf & files.keys():
            waiting += reversed(folders)


def short_key(key: str) -> str:
    """Ten hexadecimal digits that stand for a key in an address."""
    # names of files may hold bytes that are not UTF-8
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:10]


def signature(*files: Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of change, by which it is known whether files were written; absent files are left out."""
    found = []
    for file in files:
        try:
            known = file.stat()
        except OSError:
            continue
        found.append((str(file), known.st_size, known.st_mtime_ns))
    return tuple(found)
