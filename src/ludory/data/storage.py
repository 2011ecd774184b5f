"""Copies of runs, recordings and checkpoints in stores named by a URL: whole or not at all, and only what has changed.

A file lies in the store under its name and the beginning of its SHA-256, and is never written again. The list of the files is written
last; a store without renames is therefore never seen half-written, and the list before stays valid until then.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ludory.atomic import atomic_folder
from ludory.errors import DataError, OptionError, OutputError, PluginError
from ludory.paths import path_inside

LIST = "ludory-files.json"
"""The list of the files, in the store."""
BUILT_IN = ("file", "s3", "gs")
"""Schemes of PyArrow; others are those of fsspec, such as memory, abfs and hdfs."""
TRIES = 5
"""How often a folder is copied that changes meanwhile."""


class Stored(NamedTuple):
    """What was copied."""

    files: int
    """Of the copy."""
    sent: int
    """Of these, those that were not there before."""
    bytes: int
    """Of all files."""


class _StoredFile(NamedTuple):
    size: int
    sha256: str

    def place(self, name: str) -> str:
        """Its path in the store."""
        return f"{name}@{self.sha256[:16]}"


class Store:
    """A folder of a store.

    Args:
        url: such as s3://bucket/runs/league, gs://bucket/games or file:///mnt/backup/games. Credentials are those of the environment.

    Raises:
        OptionError: it is no URL, or the scheme is unknown.
        PluginError: the scheme needs a package that is not installed.
    """

    def __init__(self, url: str) -> None:
        scheme, separator, rest = url.partition("://")
        if not separator or not scheme or not rest:
            raise OptionError(f"store {url!r}: must be a URL, such as s3://bucket/folder or file:///folder")
        self.url = url.rstrip("/")
        self._fs, self._root = _opened(scheme, self.url)

    def files(self) -> dict[str, Any]:
        """The files of the list by name; none if nothing was stored here.

        Raises:
            DataError: the list is damaged.
            OutputError: the store cannot be reached.
        """
        content = self._tried(lambda: self._content(LIST))
        if content is None:
            return {}
        try:
            found = json.loads(content)["files"]
            return {str(name): _StoredFile(int(one["size"]), str(one["sha256"])) for name, one in found.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{self.url}/{LIST}: not a list of stored files ({error!r}); store them again") from error

    def read(self, name: str, file: Any) -> bytes:
        """The content of a file of the list.

        Raises:
            DataError: it is missing, or was changed.
        """
        content: bytes | None = self._tried(lambda: self._content(file.place(name)))
        found = None if content is None else hashlib.sha256(content).hexdigest()
        if content is None or found != file.sha256:
            problem = "missing" if content is None else f"SHA-256 {found}, the list says {file.sha256}"
            raise DataError(f"{self.url}/{file.place(name)}: {problem}; store the folder again")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file at once: nobody sees a part of it.

        Raises:
            OutputError: the store cannot be written to.
        """
        self._tried(lambda: self._write(name, content))

    def sizes(self) -> dict[str, int]:
        """Sizes of all files that are there, listed or not, by their paths in the store."""
        from pyarrow import fs

        selector = fs.FileSelector(self._root, recursive=True, allow_not_found=True)
        found = self._tried(lambda: self._fs.get_file_info(selector))
        start = len(self._root.strip("/")) + 1  # some file systems return paths with a slash before them
        return {one.path.lstrip("/")[start:]: one.size for one in found if one.type == fs.FileType.File}

    def remove(self, places: list[str]) -> None:
        """Remove files that no list names."""
        for place in places:
            self._tried(lambda place=place: self._fs.delete_file(self._path(place)))  # type: ignore[misc]

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _content(self, name: str) -> bytes | None:
        try:
            with self._fs.open_input_stream(self._path(name)) as stream:
                return bytes(stream.readall())
        except FileNotFoundError:
            return None

    def _write(self, name: str, content: bytes) -> None:
        path, local = self._path(name), self._fs.type_name == "local"
        if local or self._fs.type_name.startswith("py::"):
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        target = f"{path}.{os.getpid()}.tmp" if local else path
        with self._fs.open_output_stream(target) as stream:
            stream.write(content)
        if local:
            self._fs.move(target, path)

    def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except OSError as error:
            said = str(error).strip().splitlines()
            raise OutputError(
                f"{self.url}: cannot be read or written ({said[0] if said else error!r}); see that it exists and that you may use it"
            ) from error


def _opened(scheme: str, url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    from pyarrow import ArrowInvalid, fs

    if scheme in BUILT_IN:
        try:
            system, path = fs.FileSystem.from_uri(url)
        except (ArrowInvalid, OSError, ValueError) as error:
            raise OptionError(f"store {url!r}: {str(error).splitlines()[0]}") from error
        return system, path
    import fsspec

    try:
        system = fsspec.filesystem(scheme)
    except ImportError as error:
        raise PluginError(
            f"store {url!r}: {scheme}:// needs a package of fsspec that is not installed: {error}"
        ) from error
    except ValueError as error:
        raise OptionError(
            f"store {url!r}: unknown scheme {scheme!r}; must be {', '.join(f'{one}://' for one in BUILT_IN)}, or one of fsspec"
        ) from error
    return fs.PyFileSystem(fs.FSSpecHandler(system)), url.partition("://")[2]


def store(place: str | Path, url: str) -> Stored:
    """Copy a folder, or a single file, to a store; files that are there already are not sent again.

    A job may write to the folder meanwhile: the copy is of a moment between two of its writes. Hidden files (locks, temporaries) are
    left out.

    Raises:
        OptionError: there is nothing at `place`, or the URL is invalid.
        PluginError: a package is missing.
        OutputError: the store cannot be written to, or the folder did not stay unchanged long enough.
    """
    source = Path(place)
    if not source.exists():  # before the store is asked for anything
        raise OptionError(
            f"{source}: no such file or folder; name one that a job of Ludory wrote: `ludory storage push FOLDER {url}`"
        )
    target = Store(url)
    before, there, sent = target.files(), target.sizes(), 0
    for _ in range(TRIES):
        seen, found = _listing(source), dict[str, _StoredFile]()
        for name, (file, _, _) in seen.items():
            try:
                content = file.read_bytes()
            except FileNotFoundError:
                break
            one = found[name] = _StoredFile(len(content), hashlib.sha256(content).hexdigest())
            if there.get(one.place(name)) != one.size:
                target.write(one.place(name), content)
                there[one.place(name)] = one.size
                sent += 1
        if _listing(source) == seen:
            break
    else:
        raise OutputError(f"{source}: a job wrote to it during each of {TRIES} copies; stop it, or try again")
    if found != before:
        listed = {name: one._asdict() for name, one in sorted(found.items())}
        target.write(LIST, json.dumps({"files": listed}, indent=1).encode())
    kept = {one.place(name) for name, one in found.items()}
    target.remove([one.place(name) for name, one in before.items() if one.place(name) not in kept])
    return Stored(len(found), sent, sum(one.size for one in found.values()))


def fetch(url: str, folder: str | Path, *, replace: bool = False) -> Stored:
    """Copy what `store` stored into a folder, which appears when it is whole.

    Raises:
        OptionError: nothing was stored there, or the URL is invalid.
        PluginError: a package is missing.
        OutputError: the folder has files already and `replace` is False, or it cannot be written to.
        DataError: a stored file is missing or was changed; the folder is then unchanged.
    """
    source, target = Store(url), Path(folder)
    listed = source.files()
    if not listed:
        raise OptionError(f"{url}: nothing is stored there; `ludory storage push FOLDER {url}` stores a folder")
    if target.exists() and not (target.is_dir() and not any(target.iterdir())) and not replace:
        raise OutputError(f"{target}: has files already; name another folder, or add --replace")
    with atomic_folder(target) as fresh:
        for name, one in listed.items():
            file = path_inside(fresh, name, f"{url}/{LIST}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read(name, one))
    return Stored(len(listed), len(listed), sum(one.size for one in listed.values()))


def _listing(source: Path) -> dict[str, tuple[Path, int, int]]:
    """Files by name, with their sizes and times."""
    files = [source] if source.is_file() else sorted(source.rglob("*"))
    base, found = source.parent if source.is_file() else source, dict[str, tuple[Path, int, int]]()
    for file in files:
        name = file.relative_to(base)
        try:
            if file.is_file() and not any(part.startswith(".") for part in name.parts):
                status = file.stat()
                found[name.as_posix()] = file, status.st_size, status.st_mtime_ns
        except FileNotFoundError:
            continue
    return found
