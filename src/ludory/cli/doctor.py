"""`ludory doctor`: what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Literal, NamedTuple

from ludory import plugins
from ludory.errors import LudoryError
from ludory.locks import OPEN_FILES_MOVE
from ludory.plugins.requirements import install_command, package_of
from ludory.visible import visible

from .common.options import Flag
from .common.parser import parse

TINY_GAME = "LeducPoker-v0"
LARGE_CACHE = 500 * 2**20
COMPARED_GAMES = 256
"""Games that CPU and GPU play for comparison: more than one block of threads."""


class Finding(NamedTuple):
    """One line of the report."""

    name: str
    status: Literal["ok", "warning", "problem"]
    found: str
    cure: str = ""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Check what works on this machine, and say what to do about the rest.

    Example: ludory doctor
    """

    json: Flag = False
    """Print one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Print one line for each check; exit code 1 if something is broken."""
    as_json = parse(_Options, argv, "doctor").json
    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            print(_line(finding), flush=True)
    broken = sum(finding.status == "problem" for finding in findings)
    if as_json:
        print(json.dumps({"ok": not broken, "findings": [finding._asdict() for finding in findings]}, indent=2))
    else:
        print(f"\n{broken} broken" if broken else "\nnothing is broken")
    return 1 if broken else 0


def _line(finding: Finding) -> str:
    cure = f"\n{'':29}-> {finding.cure}" if finding.cure else ""
    return visible(f"{finding.status:8} {finding.name:20} {finding.found}{cure}", keep="\n")


def examine() -> Iterator[Finding]:
    """All findings, one after another as they are made. What fails because a package is missing is not told a second time."""
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("extras", _extras),
        ("plugins", _plugins),
        ("cache", _cache),
        ("threads", _threads),
        ("cpu engine", _cpu_engine),
        ("gpu", _gpu),
    )
    missing: set[str] = set()
    for name, check in checks:
        try:
            for finding in check():
                if finding.status == "problem":
                    missing.add(package_of(finding.name))
                yield finding
        except Exception as error:  # a doctor that dies of the illness helps nobody
            needed = error.name if isinstance(error, ImportError) else None
            if needed is None or package_of(needed) not in missing:
                yield Finding(name, "problem", *_told(error, needed))


def _told(error: Exception, needed: str | None) -> tuple[str, str]:
    """What is wrong, and what to do about it; `needed`: the module that is missing."""
    if isinstance(error, LudoryError):
        return str(error), ""
    command = needed and install_command("ludory", needed.partition(".")[0])
    return f"{type(error).__name__}: {error}", f"type: {command}" if command else "please report this"


def _python() -> Iterator[Finding]:
    found = f"{platform.python_version()} in {sys.prefix}"
    classifiers = metadata.metadata("ludory").get_all("Classifier") or []
    tested = [
        one.rpartition(" ")[2] for one in classifiers if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)
    ]
    if not tested or ".".join(platform.python_version_tuple()[:2]) in tested:
        yield Finding("python", "ok", found)
    else:
        yield Finding("python", "warning", found, f"Ludory is tested with Python {', '.join(tested)}")
    yield Finding(
        "machine", "ok", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{_system_notice()}"
    )


def _system_notice() -> str:
    """What is to be known about a system that is not a Unix."""
    if OPEN_FILES_MOVE:
        return ""
    return "; Ludory is tested on Linux: the Pokémon simulator's processes and some benchmarks work in WSL only"


def _packages() -> Iterator[Finding]:
    """Ludory and what it always needs, or the command that brings what is missing."""
    yield Finding("ludory", "ok", metadata.version("ludory"))
    for requirement in metadata.requires("ludory") or ():
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if "extra ==" in requirement:
            continue
        cure = f'type: pip install "{requirement}"'
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, "problem", "not installed", cure)
            continue
        bound = re.search(r">=\s*([\d.]+)", requirement)
        if bound and _numbers(found) < _numbers(bound[1]):  # another package asked for an older one
            yield Finding(name, "problem", f"{found} is too old", cure)
        else:
            yield Finding(name, "ok", found)


def _numbers(version: str) -> list[int]:
    """Such as [2, 13, 0] for 2.13.0+cpu."""
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]


def _extras() -> Iterator[Finding]:
    """Which extras are installed, and what installs the others."""
    needed: dict[str, list[str]] = {}
    for requirement in metadata.requires("ludory") or ():
        if extra := re.search(r"extra == \W(\w[\w-]*)", requirement):
            needed.setdefault(extra[1], []).append(requirement)
    installed = {package_of(one.name) for one in metadata.distributions() if one.name}

    def is_there(requirement: str) -> bool:
        if others := re.match(r"ludory\[([^]]+)\]", requirement):  # extras made of extras
            return all(map(is_there, (one for extra in others[1].split(",") for one in needed[extra.strip()])))
        return package_of(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]) in installed

    has = [extra for extra, requirements in needed.items() if all(map(is_there, requirements))]
    lacks = ", ".join(sorted(set(needed) - set(has)))
    cure = "what each is for: docs/start.md" if lacks else ""
    yield Finding("extras", "ok", f"{', '.join(sorted(has)) or 'none'}{lacks and f'; not installed: {lacks}'}", cure)


def _plugins() -> Iterator[Finding]:
    """Import what other packages bring, and name what fails."""
    registries = list(plugins.LISTED.values())
    broken = {(offer.distribution, offer.problem) for registry in registries for offer in registry.broken()}
    imported = 0
    for registry in registries:
        for id in registry.ids():
            one = registry.describe(id)
            if one.distribution == "ludory" and not one.problem:
                continue
            try:
                registry.load(id)
                imported += 1
            except Exception as error:  # of a plugin's module, anything
                broken.add((f"{registry.kind} {id} of {one.distribution}", str(error)))
    # benchmarks are in a clone only, see `ludory bench`
    whole = (registry for registry in registries if registry is not plugins.benchmarks)
    if missing := {system for registry in whole for system in registry.missing.values()}:
        yield Finding("systems", "ok", f"not part of this installation: {', '.join(sorted(missing))}")
    for what, problem in sorted(broken):
        yield Finding("plugin", "warning", f"{what}: {problem}", "ask its authors, or uninstall it")
    if os.environ.get("LUDORY_PLUGINS") == "off":
        yield Finding("plugins", "ok", "turned off by LUDORY_PLUGINS=off")
    elif not broken:
        yield Finding("plugins", "ok", f"all {imported} can be imported" if imported else "none installed")


def _cache() -> Iterator[Finding]:
    """The folder of compiled kernels."""
    from ludory.cache_folder import cache_directory

    folder = cache_directory()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    found = f"{folder}, {size / 2**20:.1f} MB"
    wanted = os.environ.get("LUDORY_CACHE_DIR")
    if not os.access(folder, os.W_OK):
        yield Finding("cache", "problem", f"{found}, not writable", "set LUDORY_CACHE_DIR to a folder of yours")
    elif wanted and Path(wanted).resolve() not in folder.resolve().parents:
        cure = "set LUDORY_CACHE_DIR to a folder that you may write to"
        yield Finding("cache", "warning", f"{found}, since LUDORY_CACHE_DIR={wanted} is not writable", cure)
    elif size > LARGE_CACHE:
        yield Finding("cache", "warning", found, "delete the folder: what is needed is compiled again")
    else:
        yield Finding("cache", "ok", found)


def _threads() -> Iterator[Finding]:
    from ludory.envs.engine.parallel import thread_count

    yield Finding("threads", "ok", f"large batches are shared by {thread_count()}")


def _cpu_engine() -> Iterator[Finding]:
    """Whether kernels compile and a game can be played to its end."""
    import numpy as np

    from ludory.envs.make import make_engine
    from ludory.testing.recording import record

    start = time.perf_counter()
    engine = make_engine(TINY_GAME, 4, seed=1)
    engine.reset()
    moves = len(record(engine, np.random.default_rng(1)).actions)
    seconds = time.perf_counter() - start
    yield Finding("cpu engine", "ok", f"{TINY_GAME}: compiled or loaded, and {moves} moves played, in {seconds:.1f} s")


def _gpu() -> Iterator[Finding]:
    """Whether there is a GPU that can be used, and plays as the CPU does."""
    import torch

    card = which("nvidia-smi") is not None
    if torch.version.cuda is None:
        cure = "install a CUDA build of torch (see pytorch.org/get-started)" if card else ""
        found = f"torch {torch.__version__} is built without CUDA; games run on the CPU"
        yield Finding("gpu", "warning" if card else "ok", found, cure)
        return
    if not torch.cuda.is_available():
        cure = "try `nvidia-smi`: the driver may be too old for this torch" if card else ""
        yield Finding("gpu", "warning" if card else "ok", "none that torch can use; games run on the CPU", cure)
        return
    properties = torch.cuda.get_device_properties(0)
    capability = f"compute capability {properties.major}.{properties.minor}"
    yield Finding("gpu", "ok", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, {capability}")
    if find_spec("numba_cuda") is None:
        command = install_command("ludory", "numba_cuda") or 'pip install "ludory[cuda]"'
        yield Finding("numba-cuda", "warning", "not installed: games cannot run on the GPU", f"type: {command}")
        return
    yield Finding("numba-cuda", "ok", metadata.version("numba-cuda"))
    yield _gpu_engine()


def _gpu_engine() -> Finding:
    """Random games on the CPU, replayed on the GPU."""
    import numpy as np

    from ludory.envs.make import make_engine
    from ludory.errors import ConformanceError, OptionError
    from ludory.testing.recording import record, replay

    cpu = make_engine(TINY_GAME, COMPARED_GAMES, device="cpu", seed=1)
    cpu.reset()
    recording, start = record(cpu, np.random.default_rng(1)), time.perf_counter()
    try:
        gpu = make_engine(TINY_GAME, COMPARED_GAMES, device="cuda", seed=1)
        gpu.reset()
        replay(gpu, recording, what="the GPU")
    except ConformanceError as error:
        return Finding("gpu engine", "problem", f"differs from the CPU: {error}", "please report this")
    except OptionError as error:
        return Finding("gpu engine", "problem", str(error), 'type: pip install --upgrade "ludory[cuda]"')
    seconds = time.perf_counter() - start
    return Finding("gpu engine", "ok", f"{COMPARED_GAMES} games are the CPU's, bit for bit ({seconds:.1f} s)")
