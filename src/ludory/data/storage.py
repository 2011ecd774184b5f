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
from time import time_ns
from typing import Any, NamedTuple

from ludory.atomic import atomic_folder
from ludory.checkpoints.file_list import LIST, Files, StoredFile, as_json, from_json
from ludory.errors import DataError, OptionError, OutputError, PluginError
from ludory.paths import path_inside
from ludory.reading import parse_json

PROBE = "ludory-probe"
"""A file that is written to see whether a store takes files, and removed."""
BUILT_IN = ("file", "s3", "gs")
"""Schemes of PyArrow; others are those of fsspec, such as memory, abfs and hdfs."""
TRIES = 20
"""How often a folder is read that changes meanwhile; after the first time only what changed is read again."""
SETTLED = 2_000_000_000
"""Nanoseconds: a file that had changed so shortly before it was read is read again by the next copy, since clocks of files are coarse."""
HELD = 64 * 2**20
"""Bytes of new contents that are kept in memory while a folder is read; more are sent at once, before it is known to stand still."""


class Stored(NamedTuple):
    """What was copied."""

    files: int
    """Of the copy."""
    sent: int
    """Of these, those that were not there before."""
    bytes: int
    """Of all files."""


def is_store(url: str) -> bool:
    """Whether a URL has a scheme that `Store` knows, and web servers and sockets do not use."""
    scheme = url.partition("://")[0]
    if scheme in BUILT_IN:
        return True
    import fsspec

    return scheme in fsspec.available_protocols() and scheme not in ("http", "https")


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

    def files(self) -> Files:
        """The files of the list by name; none if nothing was stored here.

        Raises:
            DataError: the list is damaged.
            OutputError: the store cannot be reached.
        """
        content = self._tried(lambda: self._content(LIST))
        if content is None:
            return {}
        try:
            return from_json(parse_json(content, finite=True)["files"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{self.url}/{LIST}: not a list of stored files ({error!r}); store them again") from error

    def read(self, name: str, file: StoredFile) -> bytes:
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

    def try_writing(self) -> None:
        """Write a small file and remove it.

        Raises:
            OutputError: the store cannot be reached, or cannot be written to.
        """
        self.write(PROBE, b"")
        self.remove([PROBE])

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _content(self, name: str) -> bytes | None:
        try:
            with self._fs.open_input_stream(self._path(name)) as stream:
                return bytes(stream.readall())
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _write(self, name: str, content: bytes) -> None:
        path, local = self._path(name), self._fs.type_name == "local"
        # object stores have no folders that must be made
        if local or self._fs.type_name.startswith("py::"):
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        # renamed into its place, so that nobody sees a part of it
        target = f"{path}.{os.getpid()}.tmp" if local else path
        with self._fs.open_output_stream(target) as stream:
            stream.write(content)
        if local:
            self._fs.move(target, path)

    def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (OSError, NotImplementedError) as error:  # the latter of stores that can only be read
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


class Sender:
    """Copies a folder, or a single file, to a store, again and again: only what has changed is read, and sent.

    Args:
        place: folder or file; a job may write to it meanwhile. Hidden files (locks, temporaries) are left out.
        url: of the store.

    Raises:
        OptionError: the URL is invalid.
        PluginError: a package is missing.
    """

    def __init__(self, place: str | Path, url: str) -> None:
        self.source, self.target = Path(place), Store(url)
        self._read: dict[str, _Read] = {}
        self._held: dict[str, bytes] = {}
        self._held_bytes = 0
        self._sent: set[str] = set()
        self._there: dict[str, int] = {}

    def is_empty(self) -> bool:
        """Whether there is no file that would be copied."""
        return not _listing(self.source)

    def settle(self, send: bool = True) -> Files:
        """The files of a moment between two writes of the job.

        Args:
            send: contents that the store lacks are held for `deliver`, or sent at once where they are large.

        Raises:
            OutputError: the folder did not stay unchanged long enough, or the store cannot be written to.
        """
        self._held, self._held_bytes = {}, 0
        self._there = self.target.sizes() if send else {}
        self._read = {name: one for name, one in self._read.items() if one.time - one.mark.changed > SETTLED}
        for _ in range(TRIES):
            seen = _listing(self.source)
            found = self._files(seen, send)
            # the same listing before and after: nobody wrote while the files were read
            if _listing(self.source) == seen and found is not None:
                return found
        raise OutputError(f"{self.source}: a job wrote to it during each of {TRIES} copies; stop it, or try again")

    def deliver(self, found: Files, before: Files) -> Stored:
        """Send what `settle` found and the store lacks, then the list, and remove what the list named `before` and names no more.

        Raises:
            OutputError: the store cannot be written to; the list before is then still valid.
        """
        for name, one in found.items():
            if one.place(name) in self._held:
                self._send(one.place(name), self._held.pop(one.place(name)))
        # the list last: until then the one before is valid
        if found != before:
            self.target.write(LIST, json.dumps({"files": as_json(found)}, indent=1).encode())
        kept = {one.place(name) for name, one in found.items()}
        old = {one.place(name) for name, one in before.items()} | self._sent
        self.target.remove(sorted((old - kept) & self._there.keys()))
        sent, self._sent = len(self._sent & kept), set()
        return Stored(len(found), sent, sum(one.size for one in found.values()))

    def _files(self, seen: dict[str, _Mark], send: bool) -> Files | None:
        """The files of a listing, read where they changed since they were read last; None if one is gone."""
        found: Files = {}
        for name, mark in seen.items():
            known = self._read.get(name)
            if known is None or known.mark != mark or (send and self._lacks(name, known.content)):
                time = time_ns()
                try:
                    content = mark.file.read_bytes()
                except FileNotFoundError:
                    return None
                one = StoredFile(len(content), hashlib.sha256(content).hexdigest())
                known = self._read[name] = _Read(mark, time, one)
                if send and self._lacks(name, one):
                    self._hold(one.place(name), content)
            found[name] = known.content
        return found

    def _hold(self, place: str, content: bytes) -> None:
        if self._held_bytes + len(content) > HELD:
            self._send(place, content)
        else:
            self._held[place] = content
            self._held_bytes += len(content)

    def _lacks(self, name: str, one: StoredFile) -> bool:
        place = one.place(name)
        # content is part of the place; the size tells whether it arrived whole
        return place not in self._held and self._there.get(place) != one.size

    def _send(self, place: str, content: bytes) -> None:
        self.target.write(place, content)
        self._there[place] = len(content)
        self._sent.add(place)


def store(place: str | Path, url: str) -> Stored:
    """Copy a folder, or a single file, to a store; files that are there already are not sent again.

    A job may write to the folder meanwhile: the copy is of a moment between two of its writes. Hidden files (locks, temporaries) are
    left out.

    Raises:
        OptionError: there is nothing at `place`, or the URL is invalid.
        PluginError: a package is missing.
        OutputError: the store cannot be written to, or the folder did not stay unchanged long enough.
    """
    if not Path(place).exists():  # before the store is asked for anything
        raise OptionError(
            f"{place}: no such file or folder; name one that a job of Ludory wrote: `ludory storage push FOLDER {url}`"
        )
    sender = Sender(place, url)
    before = sender.target.files()
    return sender.deliver(sender.settle(), before)


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
        raise nothing_stored(url)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())) and not replace:
        raise OutputError(f"{target}: has files already; name another folder, or add --replace")
    copied = bring(source, {name: name for name in listed}, listed, target)
    return Stored(len(listed), copied, sum(one.size for one in listed.values()))


def nothing_stored(url: str) -> OptionError:
    """The error about a URL that leads to nothing."""
    return OptionError(f"{url}: nothing is stored there; `ludory storage push FOLDER {url}` stores a folder")


def bring(source: Store, names: dict[str, str], listed: Files, target: Path) -> int:
    """Copy files of a store into a folder, which appears when it is whole; what it has already is not read again.

    Args:
        source: the store.
        names: of the files in the list, with their names in the folder.
        listed: the list.
        target: the folder; what else is in it is removed.

    Returns:
        The number of files that were read from the store.

    Raises:
        DataError: a stored file is missing or was changed, or leads out of the folder; the folder is then unchanged.
        OutputError: the store cannot be read, or the folder cannot be written to.
    """
    copied = 0
    with atomic_folder(target) as fresh:
        for stored, name in names.items():
            one, file = listed[stored], path_inside(fresh, name, f"{source.url}/{LIST}")
            content = _content_if_same(target / name, one)
            copied += content is None
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read(stored, one) if content is None else content)
    return copied


def _content_if_same(file: Path, one: StoredFile) -> bytes | None:
    if not file.is_file() or file.stat().st_size != one.size:
        return None
    content = file.read_bytes()
    return content if hashlib.sha256(content).hexdigest() == one.sha256 else None


class _Read(NamedTuple):
    """A file as it was read."""

    mark: _Mark
    time: int
    content: StoredFile


class _Mark(NamedTuple):
    """A file as it was seen."""

    file: Path
    size: int
    changed: int
    inode: int


def _listing(source: Path) -> dict[str, _Mark]:
    """Files by name, with their sizes and times."""
    files = [source] if source.is_file() else sorted(source.rglob("*"))
    base, found = source.parent if source.is_file() else source, dict[str, _Mark]()
    for file in files:
        name = file.relative_to(base)
        try:
            if file.is_file() and not any(part.startswith(".") for part in name.parts):
                status = file.stat()
                found[name.as_posix()] = _Mark(file, status.st_size, status.st_mtime_ns, status.st_ino)
        except FileNotFoundError:
            continue
    return found
