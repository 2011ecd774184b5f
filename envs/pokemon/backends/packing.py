"""An installed simulator as one file, for machines without a network."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ludory.atomic import atomic_file, atomic_folder
from ludory.errors import BackendError, DataError, PluginError

from . import install
from .install import needed

MANIFEST = "manifest.json"
"""First file of a packed installation: SHA-256 of every other file."""


def pack(file: str | Path, pinned: install.Pinned = install.SIM) -> int:
    """Write an installed simulator to a .tar.gz for machines without a network. Returns the number of files.

    Raises:
        PluginError: the simulator is not installed.
        OutputError: the file cannot be written.
    """
    folder = needed().folder if pinned is install.SIM else install.needed_bundle()
    content = {
        found.relative_to(folder).as_posix(): found.read_bytes()
        for found in sorted(folder.rglob("*"))
        # the marker is written by whoever installs
        if found.is_file() and not found.is_symlink() and found.name not in (install.MARKER,)
    }
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    manifest = json.dumps({"rules": pinned.rules, "lock": install.lock_hash(pinned), "sha256": sums}, indent=0).encode()
    with atomic_file(file) as handle, tarfile.open(fileobj=handle, mode="w:gz") as tar:
        # first, so that a file can be judged before anything of it is unpacked
        for name, data in ((MANIFEST, manifest), *content.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return len(content)


def install_from(file: str | Path, node: str = "") -> Path:
    """Install a file of `pack`, without npm and without a network; every file is compared with the sums in it.

    A packed simulator for Node needs Node, one for V8 needs mini-racer.

    Raises:
        DataError: the file is unreadable, of another lock, damaged, or names files outside its folder; nothing is installed.
        PluginError: Node or mini-racer is missing.
    """
    try:
        with tarfile.open(file, "r:gz") as tar:
            manifest = _manifest(file, tar)
            pinned = install.SIM if manifest["lock"] == install.lock_hash() else install.V8
            program, target = install.find_node(node) if pinned is install.SIM else None, install.folder_of_lock(pinned)
            with atomic_folder(target) as folder:
                _unpack(file, tar, folder, manifest["sha256"])
                if program is None:
                    install.finish_v8(folder)
                else:
                    install.finish(folder, program)
    except (tarfile.TarError, EOFError, OSError) as error:
        # errors of our own are told as they are
        if isinstance(error, DataError | PluginError | BackendError):
            raise
        raise DataError(f"{file}: no readable file of `ludory pokemon pack` ({error})") from error
    return target


def _manifest(file: str | Path, tar: tarfile.TarFile) -> dict[str, Any]:
    first = tar.next()
    if first is None or first.name != MANIFEST or not first.isfile():
        raise DataError(f"{file}: the first file is {first.name if first else 'missing'}, must be {MANIFEST}")
    manifest = _checked_manifest(file, _content(tar, first))
    for name in manifest["sha256"]:
        _check_name(file, name)
    return manifest


def _unpack(file: str | Path, tar: tarfile.TarFile, folder: Path, sums: Mapping[str, str]) -> None:
    missing = dict(sums)
    while (entry := tar.next()) is not None:
        _check_name(file, entry.name)
        if not entry.isfile():
            raise DataError(f"{file}: {entry.name} is a link, a folder or a device; only files are allowed")
        data = _content(tar, entry)
        # popped: a name that stands twice has no sum left
        if hashlib.sha256(data).hexdigest() != missing.pop(entry.name, None):
            raise DataError(f"{file}: {entry.name} is not as {MANIFEST} says; fetch the file again")
        place = folder / entry.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    if missing:
        raise DataError(
            f"{file}: {len(missing)} files are missing, such as {next(iter(missing))}; fetch the file again"
        )


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    handle = tar.extractfile(entry)
    assert handle is not None
    return handle.read()


def _checked_manifest(file: str | Path, data: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
        lock, sums = manifest["lock"], manifest["sha256"]
        if not all(isinstance(name, str) and isinstance(sum, str) for name, sum in sums.items()):
            raise TypeError("sums must be texts")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file}: {MANIFEST} cannot be read ({error})") from error
    if lock not in (install.lock_hash(install.SIM), install.lock_hash(install.V8)):
        needed = " or ".join(
            f"{install.lock_hash(pinned)[:12]} ({pinned.rules})" for pinned in (install.SIM, install.V8)
        )
        raise DataError(f"{file}: packed for the lock {str(lock)[:12]}, this Ludory needs {needed}; pack it anew")
    return dict(manifest)


def _check_name(file: str | Path, name: str) -> None:
    parts = PurePosixPath(name)
    # "\\" is a separator on Windows
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or "\0" in name or not parts.parts:
        raise DataError(f"{file}: names the file {name!r}, which lies outside the folder")
