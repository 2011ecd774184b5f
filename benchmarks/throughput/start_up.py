"""Measure how long the first step takes: on a machine where nothing is compiled, for further presets of a game, and ever after.

Every figure comes from a process of its own on one core, CPU seconds with all imports. Beside another Ludory (`--beside`) both take turns,
and the speed of their engines is measured, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.machine import commit_of
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.worker_process import THREADS
from ludory.errors import OptionError, WorkerError

GAMES = (
    "Hanabi2P-v0,Hanabi3P-v0,Hanabi4P-v0,Hanabi5P-v0,HanabiTiny2P-v0",
    "Arena2P-v0,Arena4P-v0",
    "Texas42-v0",
    "Sokoban-v0,SokobanMedium-v0",
    "Go9-v0",
    "TicTacToe-v0",
)
BARS = {
    "Hanabi2P-v0": 5.0,
    "Hanabi3P-v0": 1.0,
    "Hanabi4P-v0": 1.0,
    "Hanabi5P-v0": 1.0,
    "HanabiTiny2P-v0": 1.0,
    "Arena2P-v0": 8.0,
}
"""Most seconds that we claim, of a first step where nothing is compiled; Hanabi's presets come after each other in one process."""
BATCHES = {"few games": "2", "compiled": "8"}
"""Numbers of games: few ones begin in plain Python where nothing is compiled yet."""
ENGINES = ("Hanabi2P-v0:1", "Hanabi2P-v0:4096", "Arena2P-v0:4096", "Texas42-v0:4096", "Sokoban-v0:4096")

ONE_CORE = """
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
"""
FIRST_STEPS = """
import json, sys, time
import numpy as np
import ludory
started, taken = 0.0, {}
for id in sys.argv[2:]:
    engine = ludory.make_engine(id, num_games=int(sys.argv[1]), seed=1)
    engine.reset()
    engine.observe()
    parts = np.split(engine.legal(), np.cumsum(engine.facts.head_sizes)[:-1], axis=-1)
    actions = np.stack([part.argmax(axis=-1) for part in parts], axis=-1)
    engine.step(actions if engine.facts.simultaneous or len(parts) > 1 else actions[..., 0])
    now = time.process_time()
    taken[id], started = now - started, now
print(json.dumps(taken))
"""
"""CPU seconds from the start of the process, or from the last game's first step, to each game's first step."""
IMPORT = "import time, json; import ludory; print(json.dumps({'import ludory': time.process_time()}))"
LIST = """
import contextlib, io, json, time
from ludory.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["list"])
print(json.dumps({"ludory list": time.process_time()}))
"""
RATE = """
import json, sys, time
import numpy as np
import ludory
from ludory.testing.random_moves import random_moves
id, games, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
engine = ludory.make_engine(id, games, seed=1, threads=1)
engine.reset()
draws = np.random.default_rng(1)
best = {"step": np.inf, "observe": np.inf, "reset": np.inf}
spent = 0.0
while spent < seconds:
    actions = random_moves(engine.legal(), engine.facts, draws)
    for name, call in (("step", lambda: engine.step(actions)), ("observe", engine.observe)):
        began = time.perf_counter()
        call()
        took = time.perf_counter() - began
        best[name] = min(best[name], took)
        spent += took
    over = np.flatnonzero(engine.terminated | engine.truncated)
    if len(over):
        engine.reset(over)
for _ in range(5):
    began = time.perf_counter()
    engine.reset()
    best["reset"] = min(best["reset"], time.perf_counter() - began)
print(json.dumps({name: 1e9 * took / games for name, took in best.items()}))
"""
"""Fastest call of each kind, ns per game."""


@dataclass(frozen=True, slots=True)
class StartUpOptions:
    """Options of `ludory bench start-up`."""

    games: tuple[str, ...] = GAMES
    """Ids of games; those of one word, ID,ID,..., come one after the other in one process."""
    engines: tuple[str, ...] = ENGINES
    """ID:GAMES, engines whose speed is measured beside another Ludory."""
    beside: Path | None = None
    """Folder `src` of another checkout of Ludory, which is measured in turns with this one."""
    repeats: Count = 3
    """Rounds; the median counts, of speeds the best."""
    seconds: Seconds = 2.0
    """Of a measurement of speed."""
    out: Path = Path("runs/start-up")
    """Folder of the result."""


@benchmark("start-up")
def run(options: StartUpOptions) -> Result:
    """Measure imports, first steps with an empty cache and with a full one, and speeds."""
    sources = {"this": None} | ({"beside": options.beside} if options.beside else {})
    if options.beside and not (options.beside / "ludory").is_dir():
        raise OptionError(f"--beside {options.beside}: there is no ludory in it; give the folder src of a checkout")
    found: dict[str, dict[str, list[float]]] = {name: {} for name in sources}
    for _ in range(options.repeats):
        for name, source in sources.items():
            for what, seconds in _start_up(options, source):
                found[name].setdefault(what, []).append(seconds)
    report: dict[str, Any] = {
        name: {what: {"median": median(rounds), "rounds": rounds} for what, rounds in each.items()}
        for name, each in found.items()
    }
    report["bars"] = BARS
    if options.beside:
        report["beside_commit"] = commit_of(options.beside)
        report["engines"] = _engines(options, sources)
    return Result(options.out / "start-up.json", report, _shown)


def _start_up(options: StartUpOptions, source: Path | None) -> Iterator[tuple[str, float]]:
    yield from _child(IMPORT, source, {}).items()
    yield from _child(LIST, source, {}).items()
    for group in options.games:
        for batch, sizes in BATCHES.items():
            with tempfile.TemporaryDirectory() as cache:
                for when in ("cold", "warm"):
                    taken = _child(FIRST_STEPS, source, {"LUDORY_CACHE_DIR": cache}, sizes, *group.split(","))
                    yield from ((f"{id}, {batch}, {when}", seconds) for id, seconds in taken.items())


def _engines(options: StartUpOptions, sources: Mapping[str, Path | None]) -> dict[str, Any]:
    """Fastest calls of each engine, ns per game, and their ratio."""
    report = {}
    for engine in options.engines:
        id, _, games = engine.partition(":")
        best: dict[str, dict[str, float]] = {name: {} for name in sources}
        for _ in range(options.repeats):
            for name, source in sources.items():
                for call, took in _child(RATE, source, {}, id, games, str(options.seconds)).items():
                    best[name][call] = min(took, best[name].get(call, took))
        report[engine] = best | {"ratio": {call: best["beside"][call] / took for call, took in best["this"].items()}}
    return report


def _child(program: str, source: Path | None, extra: Mapping[str, str], *words: str) -> dict[str, float]:
    path = {"PYTHONPATH": str(source.resolve())} if source else {}
    alone = os.environ | dict.fromkeys(THREADS, "1") | path | dict(extra)
    done = subprocess.run([sys.executable, "-c", ONE_CORE + program, *words], env=alone, capture_output=True, text=True)
    if done.returncode:
        raise WorkerError(f"{' '.join(words) or 'start'}: {done.stderr.strip().splitlines()[-1]}")
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    beside = report.get("beside", {})
    head = ["CPU seconds", "this", "bar", *(["beside", "ratio"] if beside else [])]
    rows = []
    for what, taken in report["this"].items():
        bar = report["bars"].get(what.partition(",")[0]) if what.endswith(", cold") else None
        row = [what, f"{taken['median']:.2f}", "" if bar is None else f"<= {bar:g}"]
        if beside:
            row += [f"{beside[what]['median']:.2f}", f"{taken['median'] / beside[what]['median']:.2f}"]
        rows.append(row)
    yield table("start-up", head, rows)
    if "engines" in report:
        rows = [
            [engine, call, f"{took:.1f}", f"{found['beside'][call]:.1f}", f"{found['ratio'][call]:.2f}"]
            for engine, found in report["engines"].items()
            for call, took in found["this"].items()
        ]
        yield table("engines, ns per game, fastest call", ["engine", "call", "this", "beside", "times as fast"], rows)
