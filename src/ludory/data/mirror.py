"""`Mirror`: the folder of this machine in which a job works whose `--out` is a URL; `copy_to_read`: what lies at a URL, to read it.

A mirror notes beside its folder which list of files the store had when the two were last alike. From this it tells apart a folder that is
ahead of the store (its job was killed before the copy was made), a store that is ahead of the folder (the job went on elsewhere), and two
that have both changed, which no copy may overwrite.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ludory.atomic import atomic_file
from ludory.checkpoints.file_list import Files, as_json, from_json
from ludory.errors import DataError, LudoryError, OptionError, OutputError
from ludory.locks import lock, unlock
from ludory.reading import read_json

from .storage import Sender, Store, Stored, bring, fetch, nothing_stored

CHECKPOINT = ".ludory"
"""Ending that names of checkpoints may be typed without."""


class ChangedElsewhereError(OutputError):
    """A store and the folder of this machine were both changed since they were alike."""


class _Note(NamedTuple):
    """What is known of the store."""

    stored: Files
    """Its list when the store and the folder were last alike."""
    sending: Files | None = None
    """The list of a copy that was begun after that; it may have arrived."""


class Mirror:
    """A folder of this machine, and the store that keeps it.

    Several processes of this machine may share it, as they may share a job's folder.

    Args:
        url: of the store.
        base: folder of all mirrors.
        is_file: the URL names a file, such as a checkpoint; the store keeps it together with what is written beside it.

    Raises:
        OptionError: the URL is invalid.
        PluginError: the scheme needs a package that is not installed.
    """

    def __init__(self, url: str, base: Path, is_file: bool) -> None:
        self.url, name = url.rstrip("/"), last_part(url)
        home = _home(base, self.url)
        self.folder = home / "files" if is_file else home / name
        self.path = self.folder / name if is_file else self.folder
        """What the job is given in place of the URL."""
        self._sender = Sender(self.folder, self.url)
        self._note_file = home / f".{self.folder.name}.json"
        self._lock = home / ".lock"

    def open(self) -> None:
        """Bring the folder and the store together before a job begins.

        What the store has is copied into an empty folder, and into one that did not change since it was copied. A folder that is ahead
        of its store stays: `push` will send it.

        Raises:
            OutputError: the store cannot be reached, or cannot be written to.
            ChangedElsewhereError: both were changed.
            DataError: the store is damaged.
        """
        with locked(self._lock):
            # the note is of this machine; the list is what the store has now
            store, note = self._sender.target, self._note()
            there = store.files()
            store.try_writing()
            empty = self._sender.is_empty()
            known = there in (note.stored, note.sending)
            here = {} if empty or known else self._sender.settle(send=False)
            # both differ from when they were alike, and from each other
            if here and here not in (there, note.stored):
                raise ChangedElsewhereError(
                    f"{self.url}: has been changed, and so has the copy of this machine in {self.folder}, since they were alike; keep one "
                    f"of them: `ludory storage pull {self.url} {self.folder} --replace`, or remove the store and type "
                    f"`ludory storage push {self.folder} {self.url}`"
                )
            # the store is ahead, or there is nothing here
            if there and (empty or (not known and here == note.stored)):
                fetch(self.url, self.folder, replace=True)
            self._write(_Note(there))

    def push(self) -> Stored:
        """Send what has changed.

        Raises:
            OutputError: the store cannot be written to, or the folder did not stay unchanged long enough.
            ChangedElsewhereError: another machine has stored something there.
        """
        with locked(self._lock):
            if not self.folder.is_dir():
                return Stored(0, 0, 0)
            note, before = self._note(), self._sender.target.files()
            if before not in (note.stored, note.sending):
                raise ChangedElsewhereError(
                    f"{self.url}: another machine has stored something there meanwhile; what this one made stays in {self.folder}; "
                    f"`ludory storage push {self.folder} URL` stores it at another URL"
                )
            found = self._sender.settle()
            if not found and not before:
                return Stored(0, 0, 0)
            # before it is sent: if this process is killed, either list may be the one in the store
            self._write(_Note(before, found))
            done = self._sender.deliver(found, before)
            self._write(_Note(found))
            return done

    def _note(self) -> _Note:
        try:
            found = read_json(self._note_file, finite=True)
            sending = found["sending"]
            return _Note(from_json(found["stored"]), None if sending is None else from_json(sending))
        except FileNotFoundError:
            return _Note({})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{self._note_file}: not a note of what is stored ({error!r}); remove it") from error

    def _write(self, note: _Note) -> None:
        with atomic_file(self._note_file, "w") as handle:
            sending = None if note.sending is None else as_json(note.sending)
            json.dump({"url": self.url, "stored": as_json(note.stored), "sending": sending}, handle)


def copy_to_read(url: str, base: Path, as_folder: bool) -> Path:
    """A copy of what lies at a URL: of a stored folder, of a part of one, or of the file that the URL is named after.

    Args:
        url: of a stored folder, or of a file or folder in one, such as s3://bucket/league/players/main0@3.ludory.
        base: folder of all copies; what was copied before is not read again.
        as_folder: a folder is wanted, also where there is one file in it.

    Raises:
        OptionError: nothing is stored there, or the URL is invalid.
        PluginError: the scheme needs a package that is not installed.
        OutputError: the store cannot be reached.
        DataError: it is damaged.
    """
    source, inside, listed = _stored_at(url.rstrip("/"))
    name, home = last_part(url), _home(base, url.rstrip("/"))
    if inside in listed:
        names, path = {inside: name}, home / "files" / name
    elif inside:
        names = {one: one.removeprefix(f"{inside}/") for one in listed if one.startswith(f"{inside}/")}
        path = home / name
    else:
        # a checkpoint's name may lack its ending, and a store of one file means that file
        names, path = {one: one for one in listed}, home / name
        file = next(
            (one for one in (name, name + CHECKPOINT, *list(listed)[: len(listed) == 1]) if one in listed), None
        )
        if file is not None and not as_folder:
            path = home / "files" / file
    if not names:
        raise nothing_stored(url)
    folder = home / "files" if path.parent.name == "files" else path
    with locked(home / ".lock"):
        # copies are used again as long as the list of the store is the same
        note = {"url": source.url, "stored": as_json({one: listed[one] for one in names})}
        if not (folder.is_dir() and _read_note(home / f".{folder.name}.json") == note):
            bring(source, names, listed, folder)
            with atomic_file(home / f".{folder.name}.json", "w") as handle:
                json.dump(note, handle)
    return path


def _read_note(file: Path) -> object:
    try:
        return read_json(file)
    except (FileNotFoundError, ValueError):
        return None


def _stored_at(url: str) -> tuple[Store, str, Files]:
    """The store that a URL leads to, the place in it ("" for all of it), and its list.

    Raises:
        OptionError: there is none.
    """
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    store = Store(url)
    if listed := store.files():
        return store, "", listed
    place = PurePosixPath(rest)
    # the URL may lead into a stored folder: the nearest list above it counts
    for above in place.parents:
        if str(above) in (".", "/"):
            break
        # the query belongs to the store, not to the path
        store = Store(f"{scheme}://{above}{query and '?'}{query}")
        try:
            listed = store.files()
        except LudoryError:  # who may read a folder need not see those above it
            break
        if listed:
            return store, str(place.relative_to(above)), listed
    raise nothing_stored(url)


def last_part(url: str) -> str:
    """The name of what a URL leads to.

    Raises:
        OptionError: it has none.
    """
    name = url.partition("://")[2].partition("?")[0].rstrip("/").rpartition("/")[2]
    if not name or name.startswith(".") or "\0" in name:
        raise OptionError(f"store {url!r}: must end with a name, such as s3://bucket/run or file:///folder/run")
    return name


def _home(base: Path, url: str) -> Path:
    """The folder of a URL's copies."""
    # by hash, since URLs have characters that file names may not have
    return base / hashlib.sha256(url.encode()).hexdigest()[:16]


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Wait until no other thread or process is in a block with this file.

    Raises:
        OutputError: the folder cannot be written to.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("ab")
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}; name another folder with --work") from error
    with handle:
        lock(handle)
        try:
            yield
        finally:
            unlock(handle)
