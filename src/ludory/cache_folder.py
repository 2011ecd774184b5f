"""The folder of this user in which compiled kernels and other things that can be made again are kept."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from .errors import OutputError

__all__ = [
    "cache_directory",
]


def cache_directory(part: str = "kernels") -> Path:
    """Folder of bound files and compiled code, or of another `part`: in `LUDORY_CACHE_DIR`, else the user's cache folder, else a temporary one.

    The user's cache folder is `XDG_CACHE_HOME`, else, on Windows, `LOCALAPPDATA`, else `~/.cache`.

    Code is loaded from it, so it belongs to this user and nobody else can enter it.

    Raises:
        OutputError: no such folder can be made.
    """
    named = os.environ.get("LUDORY_CACHE_DIR")
    users = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    base = Path(named) if named else Path(users).expanduser() / "ludory"
    folder, temporary = base / part, Path(tempfile.gettempdir()) / f"ludory-{part}-{_user()}"
    cure = "set LUDORY_CACHE_DIR to a folder of your own"
    if not (unusable := _make_private(folder)):
        return folder
    if problem := _make_private(temporary):
        raise OutputError(f"{temporary} {problem}; {cure}")
    warn(f"ludory: {folder} {unusable}, so {temporary} is used instead; {cure}")
    return temporary


def _user() -> object:
    """The user's number. Windows has none: folders of the user, also the one for temporary files, are private there."""
    return os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _make_private(folder: Path) -> str:
    """Make `folder` accessible to this user only; returns why that is impossible, "" if it is done."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if problem := _foreign(folder):
            return problem
        if hasattr(os, "getuid") and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        return f"cannot be made private ({error.strerror})"
    return "" if os.access(folder, os.W_OK) else "cannot be written to"


def _foreign(folder: Path) -> str:
    """Why another user may control the content of `folder`, "" if none can."""
    if not hasattr(os, "getuid"):
        return ""
    for place in (folder.parent, folder):
        if place.is_symlink() and (place == folder or place.lstat().st_uid not in (0, os.getuid())):
            return "is a symbolic link" if place == folder else f"lies behind the symbolic link {place} of another user"
    return "belongs to another user" if folder.exists() and folder.stat().st_uid != os.getuid() else ""


@cache
def warn(notice: str) -> None:
    """Print a notice to stderr, once in a process."""
    print(notice, file=sys.stderr)
