"""The environment in the cache folder in which peers are installed, apart from Ludory's own packages."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ludory.benchmarks.harness.worker_process import MissingContestant
from ludory.cache_folder import cache_directory

PACKAGES = ("open_spiel", "pettingzoo", "shimmy")
"""What `install_peers` installs."""


def peer_folder() -> Path:
    """Folder of what the benchmark keeps for its next run."""
    return cache_directory("benchmarks")


def install_peers() -> None:
    """Install or update the peers' packages.

    Raises:
        MissingContestant: no network, or no package for this Python.
    """
    run_tool([peer_python(), "-m", "pip", "install", "--quiet", "--upgrade", *PACKAGES], "pip install")


def peer_python() -> str:
    """Interpreter of the peers' environment, which is created if it does not exist.

    Raises:
        MissingContestant: it cannot be made.
    """
    python = _python_path()
    if not python.exists():
        try:
            venv.create(_environment(), with_pip=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise MissingContestant(f"no environment for peers could be made in {_environment()}: {error}") from error
    return str(python)


def pythons() -> Iterator[str]:
    """Interpreters that may have the peers' packages: that of their environment if there is one, then this one."""
    if _python_path().exists():
        yield str(_python_path())
    yield sys.executable


def _environment() -> Path:
    return peer_folder() / "python-{}.{}".format(*sys.version_info)


def _python_path() -> Path:
    return _environment() / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run_tool(command: Sequence[str], what: str, variables: Mapping[str, str] | None = None) -> None:
    """Run a command to its end; `variables` are added to its environment.

    Raises:
        MissingContestant: it fails; with the last line that contains an error.
    """
    environment = os.environ | dict(variables or {})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        errors = [line.strip() for line in said if "error" in line.lower()]
        raise MissingContestant(f"{what} failed: {(errors or said)[-1]}")
