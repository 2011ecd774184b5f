"""Builds our driver with the C++ core of hanabi-learning-environment, in a scratch folder."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from pathlib import Path

from ludory.benchmarks.harness.worker_process import PEERS, MissingContestant

from .peer_packages import peer_folder, peer_python, run_tool

PROJECT, VERSION = "hanabi-learning-environment", "0.0.4"
DRIVER = PEERS / "hle_driver.cc"
OPTIONS = ("-O3", "-DNDEBUG", "-march=native", "-std=c++11", f'-DHLE_VERSION="{VERSION}"')
"""Compiler options; the project itself asks for -O2, which is slower."""


def hle_driver() -> str:
    """Path of the driver; built by the first call, and kept.

    Raises:
        MissingContestant: no compiler, no network, or it does not compile.
    """
    digest = hashlib.sha256(DRIVER.read_bytes() + repr(OPTIONS).encode()).hexdigest()[:12]
    program = peer_folder() / f"hle-{VERSION}-{digest}"
    if not program.exists():
        compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
        if compiler is None:
            raise MissingContestant("not built: no C++ compiler (c++, g++ or clang++) on the PATH")
        with tempfile.TemporaryDirectory(dir=peer_folder()) as scratch:
            core = _core_sources(Path(scratch))
            files = [DRIVER, *sorted(core.glob("*.cc"))]
            built = Path(scratch) / "driver"
            run_tool([compiler, *OPTIONS, f"-I{core}", *map(str, files), "-o", str(built)], "compiling")
            built.replace(program)
    return str(program)


def _core_sources(scratch: Path) -> Path:
    """Folder of the C++ sources, out of the source distribution."""
    download = ["-m", "pip", "download", "--no-deps", "--no-binary", PROJECT, "--dest", str(scratch)]
    # pip has CMake read the project for its name, and CMake 4 refuses projects so old without this variable
    variables = {"CMAKE_POLICY_VERSION_MINIMUM": "3.5"}
    run_tool([peer_python(), *download, f"{PROJECT}=={VERSION}"], "pip download", variables)
    with tarfile.open(next(scratch.glob("*.tar.gz"))) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(scratch, filter="data")
        else:  # a Python older than the filters
            archive.extractall(scratch)
    return next(scratch.glob("*/*/hanabi_lib"))
