"""`ShowdownServer`: the pinned simulator's own server on loopback, for poke-env, people and foreign bots."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from ludory.atomic import atomic_folder
from ludory.cache_folder import cache_directory
from ludory.errors import BackendError, BackendTimeout, PluginError
from ludory.plugins import needs_unix

from .install import INSTALL, Installation, lock_hash, needed
from .sim import SECONDS_TO_CLOSE, death_signal, keep_lines

if TYPE_CHECKING:
    from typing_extensions import Self

POKE_ENV = "poke-env==0.16.1"
PYTHON_VARIABLE = "LUDORY_POKEENV_PYTHON"
"""Names an interpreter that has poke-env, instead of the one that the installation makes."""
SECONDS_TO_START = 60.0
_PIP_SECONDS = 900
_ANY_FREE, _ATTEMPTS, HTTP_OK = 0, 3, 200
_SETTINGS = """
exports.bindaddress = '127.0.0.1';
exports.repl = false;
exports.subprocesses.simulator = 4;
exports.loginserver = 'http://127.0.0.1:9/';
"""
"""Appended to the example configuration, which listens on every interface."""


def server_folder() -> Path:
    """Where the server and poke-env's virtual environment are installed, whether or not they are."""
    return cache_directory("pokemon") / f"{lock_hash()[:12]}-server"


def install_server(again: bool = False, interpreter: str = sys.executable) -> Path:
    """Copy the installed simulator to a folder that its server may write to, and make poke-env an environment of its own.

    Returns:
        The folder.

    Raises:
        PluginError: the simulator is not installed, or pip fails; with the end of what it said.
    """
    target, source = server_folder(), needed().folder
    if target.is_dir() and not again:
        return target
    with atomic_folder(target) as folder:
        shutil.copytree(source / "node_modules", folder / "node_modules", symlinks=True)
        _write_settings(folder)
        if not os.environ.get(PYTHON_VARIABLE):
            _run([interpreter, "-m", "venv", str(folder / "venv")])
            _run([str(_python_of(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", POKE_ENV])
    return target


def _write_settings(folder: Path) -> None:
    config = _package(folder) / "config"
    example = (config / "config-example.js").read_text(encoding="utf-8")
    # the package from npm lacks folders that the server expects
    for missing in (config / "chat-plugins", config.parent / "logs"):
        missing.mkdir(exist_ok=True)
    (config / "config.js").write_text(example + _SETTINGS, encoding="utf-8")


def _package(folder: Path) -> Path:
    return folder / "node_modules" / "pokemon-showdown"


def _python_of(folder: Path) -> Path:
    return folder / "venv" / "bin" / "python"


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_PIP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PluginError(f"{' '.join(command)} did not end within {_PIP_SECONDS} seconds; try again") from error
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise PluginError(
            f"{' '.join(command)} ended with code {done.returncode}; without a network, install {POKE_ENV} into an "
            f"environment yourself and set {PYTHON_VARIABLE} to its python\n{said}"
        )


def server_installation() -> tuple[Path, Path]:
    """Folder of the server and the interpreter that has poke-env.

    Raises:
        PluginError: either is missing; says what to type.
    """
    folder = server_folder()
    named = os.environ.get(PYTHON_VARIABLE)
    python = Path(named) if named else _python_of(folder)
    if not (_package(folder) / "config" / "config.js").is_file():
        raise PluginError(f"a Showdown server is not installed in {folder}: type {INSTALL} --server")
    if not python.is_file():
        raise PluginError(
            f"poke-env's interpreter {python} is missing: type {INSTALL} --server, or set {PYTHON_VARIABLE} to a python "
            f"that has {POKE_ENV}"
        )
    return folder, python


class ShowdownServer:
    """A Showdown server on 127.0.0.1 in a process group of its own; ended by `close`, by `with`, and with this process.

    Players need no passwords. Nothing is seeded: a Showdown server cannot be.

    Args:
        port: to listen on; 0 takes a free one.
        timeout: seconds until it must be ready.

    Raises:
        PluginError: the server is not installed, or this system is not a Unix.
        BackendError: it ended before it was ready, as when the port is taken; shows the last lines that it wrote.
        BackendTimeout: it was not ready in time; it has been ended.
    """

    def __init__(self, port: int = _ANY_FREE, timeout: float = SECONDS_TO_START) -> None:
        if not hasattr(os, "killpg"):
            raise needs_unix("a Showdown server (backend='server')")
        folder, _ = server_installation()
        node = needed().node
        for attempt in range(_ATTEMPTS):
            self.port = port or _free_port()
            self._start(Installation(folder, node))
            try:
                self._wait_until_ready(timeout)
                return
            except BaseException as error:
                self.close()
                taken = isinstance(error, BackendError) and not isinstance(error, BackendTimeout)
                if (
                    port or not taken or attempt == _ATTEMPTS - 1
                ):  # somebody else may have taken the free port meanwhile
                    raise

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"ws://127.0.0.1:{self.port}/showdown/websocket"

    @property
    def pid(self) -> int:
        """Process id of the server, which is also its process group."""
        return self._process.pid

    def _start(self, installation: Installation) -> None:
        package = _package(installation.folder)
        self._said: deque[str] = deque(maxlen=200)
        self._process = subprocess.Popen(
            [installation.node, package / "pokemon-showdown", "start", "--no-security", "--skip-build", str(self.port)],
            cwd=package,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # a group of its own, since the server starts processes
            start_new_session=True,
            preexec_fn=death_signal(),
        )
        assert self._process.stdout is not None
        threading.Thread(target=keep_lines, args=(self._process.stdout, self._said), daemon=True).start()
        self._finalizer = weakref.finalize(self, _end_group, self._process, os.getpid())

    def _wait_until_ready(self, timeout: float) -> None:
        end = monotonic() + timeout
        while not self._answers():
            taken = any("EADDRINUSE" in line for line in list(self._said))
            if taken or self._process.poll() is not None:
                sleep(0.1)  # its last lines
                what = f"port {self.port} is taken" if taken else f"it ended with exit code {self._process.returncode}"
                raise BackendError(
                    f"the Showdown server did not start: {what}; type port=0 for a free one{self.last_words()}"
                )
            if monotonic() > end:
                raise BackendTimeout(f"the Showdown server was not ready within {timeout:g} seconds{self.last_words()}")
            sleep(0.05)

    def _answers(self) -> bool:
        """True once the server has said that it listens, and answers: under load, seconds lie between the two."""
        if not any("now listening" in line for line in list(self._said)):
            return False
        connection = HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/showdown/info")
            return connection.getresponse().status == HTTP_OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def last_words(self) -> str:
        """The last 20 lines that the server wrote, for errors."""
        return ":\n" + "\n".join(list(self._said)[-20:]) if self._said else ""

    def alive(self) -> bool:
        """True until the server ends."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Return when the server has ended by itself."""
        self._process.wait()

    def close(self) -> None:
        """End the server and its own processes; may be called twice."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_group(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a server and the processes that it made. Does nothing in a forked copy of the process that started it."""
    if os.getpid() != owner:
        return
    # asked first, then forced
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_CLOSE)
    assert process.stdout is not None
    process.stdout.close()
