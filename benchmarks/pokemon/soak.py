"""Many Pokémon battles in one engine: whether memory grows, and whether processes or files are left behind.

Resident memory of every process is read after each share of the battles. It may grow until the first `settle` battles are over.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.cache_folder import cache_directory
from ludory.envs.make import make_engine
from ludory.envs.pokemon.engine import PokemonEngine

SECONDS_TO_END = 5.0
"""Time for the children to end after `close`."""
GROWTH = 0.10
"""Share by which a process may grow after `settle` battles: collectors of garbage do not return all memory at once."""


@dataclass(frozen=True, slots=True)
class PokemonSoakOptions:
    """Options of `ludory bench pokemon-soak`."""

    game: str = "PokemonGen1RandomBattle-v0"
    """Id of the battles."""
    battles: Count = 20_000
    """Random battles in all."""
    settle: Count = 2_000
    """Battles after which memory is to be flat, and between two readings."""
    games: Count = 64
    """Battles at a time."""
    workers: Natural = 1
    """Worker processes."""
    seed: Natural = 1
    """Of teams, chance and choices."""
    out: Path | None = None
    """JSON file of the result."""


@benchmark("pokemon-soak")
def run(options: PokemonSoakOptions) -> Result:
    """Play, read memory, close, look for leftovers."""
    with _own_folders() as (temporary, cache):
        found = _soaked(options)
        left = [path.relative_to(cache) for path in cache.rglob("*") if not path.is_symlink()]
        found["files_left"] = sorted(os.listdir(temporary)) + sorted(map(str, left))
    return Result(options.out, found, _shown)


@contextmanager
def _own_folders() -> Iterator[tuple[Path, Path]]:
    """A folder of temporary files and a cache that no other program writes to, for this process and its workers.

    The cache has links to the installed simulators.
    """
    installed = cache_directory("pokemon")
    with tempfile.TemporaryDirectory() as folder:
        temporary, cache = Path(folder) / "temporary", Path(folder) / "cache" / "pokemon"
        temporary.mkdir()
        cache.mkdir(parents=True)
        for simulator in installed.iterdir():
            if (simulator / "package-lock.json").exists():
                (cache / simulator.name).symlink_to(simulator, target_is_directory=True)
        own = {"TMPDIR": str(temporary), "LUDORY_CACHE_DIR": str(cache.parent)}
        before = tempfile.tempdir, {name: os.environ.get(name) for name in own}
        tempfile.tempdir = str(temporary)
        os.environ.update(own)
        try:
            yield temporary, cache
        finally:
            tempfile.tempdir = before[0]
            for name, value in before[1].items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


def _soaked(options: PokemonSoakOptions) -> dict[str, Any]:
    engine = make_engine(options.game, options.games, seed=options.seed, workers=options.workers)
    assert isinstance(engine, PokemonEngine)
    try:
        engine.reset()
        readings = [_memory(engine) | {"battles": 0}]
        started, done = time.perf_counter(), 0
        draw = np.random.default_rng(options.seed)
        while done < options.battles:
            legal = engine.state.legal
            engine.step(np.where(legal, draw.random(legal.shape, dtype=np.float32), -1).argmax(-1)[..., None])
            over = np.flatnonzero(engine.over)
            if len(over):
                if (done + len(over)) // options.settle > done // options.settle:
                    readings.append(_memory(engine) | {"battles": done + len(over)})
                done += len(over)
                engine.reset(over)
        seconds = time.perf_counter() - started
        pids = _processes(engine)
    finally:
        engine.close()
    found = {
        **{name: value for name, value in asdict(options).items() if name != "out"},
        "seconds": seconds,
        "resident_mib": readings,
        "growth": _growth(readings),
        "processes_left": _left(pids),
    }
    return found | {"flat": all(share <= GROWTH for share in found["growth"].values())}


def _processes(engine: PokemonEngine) -> dict[str, int]:
    """Process ids of the engine's children, by name."""
    nodes = {f"node {k}": pid for k, pid in enumerate(engine.pids())}
    return nodes | {f"worker {k}": pid for k, pid in enumerate(engine.pool.worker_pids)}


def _memory(engine: PokemonEngine) -> dict[str, float]:
    """MiB of resident memory of this process and its children, by name."""
    pids = {"this process": "self"} | {name: str(pid) for name, pid in _processes(engine).items()}
    return {name: _resident(pid) for name, pid in pids.items()}


def _resident(pid: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return float(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) / 1024


def _growth(readings: list[dict[str, float]]) -> dict[str, float]:
    """By process, growth from the mean of the readings after the first share of battles to the mean of the last ones."""
    settled = readings[1:]
    third = max(1, len(settled) // 3)
    shares = {}
    for name in (key for key in readings[0] if key != "battles"):
        before = float(np.mean([reading[name] for reading in settled[:third]]))
        after = float(np.mean([reading[name] for reading in settled[-third:]]))
        shares[name] = after / before - 1
    return shares


def _left(pids: Mapping[str, int]) -> list[str]:
    """Names of the processes that still run some seconds after their end was asked for."""
    end = time.monotonic() + SECONDS_TO_END
    while True:
        left = [name for name, pid in pids.items() if Path(f"/proc/{pid}").exists()]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for reading in report["resident_mib"]:
        sizes = ", ".join(f"{name} {size:,.0f} MiB" for name, size in reading.items() if name != "battles")
        yield f"{reading['battles']:7,} battles: {sizes}"
    growth = ", ".join(f"{name} {share:+.1%}" for name, share in report["growth"].items())
    yield f"growth since the first readings: {growth}; {'flat' if report['flat'] else 'NOT flat'}"
    yield f"left behind: {len(report['processes_left'])} processes, files {report['files_left'] or 'none'}"
