"""Measure how many steps of Sokoban one core plays, beside gym-sokoban, envpool and Jumanji.

Rooms have 10x10 cells and four boxes, 1024 games at a time; actions are random and drawn beforehand. Rates are per second of processor
time, medians of several measurements in turns. Peers run in an interpreter that has them (--peer-python); the figures of those that do not
run here are the stored ones, which the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import WARM_UP, processor_rates
from ludory.benchmarks.harness.worker_process import MissingContestant, WorkerProcess, peer_command
from ludory.envs.engine.binding.bind import bind_fields
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.game import Game
from ludory.envs.make import make_game
from ludory.envs.sokoban.generator import draw_rooms
from ludory.envs.sokoban.options import PRESETS, SokobanOptions

ROUNDS = 240
"""Steps of a burst, two games of 120 steps."""
BARS = {
    "rules": 50e6,
    "with planes as bits and masks": 15e6,
    "text grids": 1e5,
    "rooms 6x6/1": 20_000,
    "rooms 10x10/4": 50,
}
"""Rates that we claim for an idle core."""
INCLUDES = {
    "rules": "moves, rewards, ends, new games from the bank",
    "with planes as bits and masks": "the same through the engine: checks, masks, four planes as bits, new games",
    "with planes as bits and masks of moves": "the same; masks allow what changes the state; choosing by mask is not part of it",
    "text grids": "texts of the style grid, as strings",
    "rooms 6x6/1": "rooms of Sokoban-v0 drawn by seed",
    "rooms 10x10/4": "rooms of SokobanGym-v0 drawn by seed",
}
PEERS: Mapping[str, tuple[tuple[str, ...], float]] = {
    "gym-sokoban, rgb": (("gym", "rgb_array"), 555),
    "gym-sokoban, tiny rgb": (("gym", "tiny_rgb_array"), 13_200),
    "gym-sokoban, no picture": (("gym", "none"), 59_600),
    "envpool": (("envpool", "1024"), 56_000),
    "Jumanji, 1 game": (("jumanji", "1"), 222_000),
    "Jumanji, 1024 games": (("jumanji", "1024"), 4_400_000),
}
"""Arguments of each peer's module, and its stored rate: gym-sokoban 0.0.6, envpool 1.2.5, Jumanji 1.1.2 (JAX on the CPU), one core."""


@dataclass(frozen=True, slots=True)
class SokobanBenchmarkOptions:
    """Options of `ludory bench sokoban`."""

    seconds: Seconds = 3.0
    """Of a measurement."""
    repeats: Count = 3
    """Measurements; the median counts."""
    games: Count = 1024
    """Games at a time."""
    peer_python: Path | None = None
    """Interpreter with gym-sokoban, envpool and jumanji."""
    out: Path = Path("runs/sokoban")
    """Folder of the result."""


@benchmark("sokoban")
def run(options: SokobanBenchmarkOptions) -> Result:
    """Measure our own parts on one thread, then the peers."""
    game = make_game("SokobanGym-v0", actions="push4")
    works: dict[str, Callable[[], int]] = {
        "rules": _rules(game, options.games),
        "with planes as bits and masks": _engine(game, options.games),
        "with planes as bits and masks of moves": _engine(
            make_game("SokobanGym-v0", actions="push4", mask="moves"), options.games
        ),
        "text grids": _texts(game, options.games),
        "rooms 6x6/1": _rooms("simple", 2000),
        "rooms 10x10/4": _rooms("gym", 20),
    }
    with one_thread():
        found = {name: processor_rates(step, options.seconds, options.repeats) for name, step in works.items()}
    rates = {
        name: {"median": median(rounds), "rounds": rounds, "bar": BARS.get(name)} for name, rounds in found.items()
    }
    peers = {name: _peer(options, arguments, stored) for name, (arguments, stored) in PEERS.items()}
    report = {"per_cpu_second": rates, "includes": INCLUDES, "peers": peers, "games": options.games}
    return Result(options.out / "sokoban.json", report, _shown)


def _actions(games: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(1).integers(0, 4, (ROUNDS, games))


def _rules(game: Game, games: int) -> Callable[[], int]:
    """Steps and restarts, in one compiled loop."""
    engine, actions = KernelEngine(game, games, seed=1, threads=1), _actions(games)
    engine.reset()
    kernels = game.needed_kernels("the benchmark")
    template = Path(__file__).with_name("rules_loop")
    loop = bind_fields(str(template), {"reset": kernels.reset, "step": kernels.step}, game.rules.fields)

    def step() -> int:
        loop.play_rows(*engine.kernel_state, actions, 0, games)
        return actions.size

    return step


def _engine(game: Game, games: int) -> Callable[[], int]:
    """Steps through the engine, each followed by restarts, observations and masks."""
    engine = KernelEngine(game, games, seed=1, threads=1)
    actions = _legal_play(engine)

    def step() -> int:
        engine.reset(seed=1)
        for chosen in actions:
            engine.step(chosen)
            over = np.flatnonzero(engine.over)
            if len(over):
                engine.reset(over)
            engine.observe(packed=True)
            engine.legal()
        return int(actions.size)

    return step


def _legal_play(engine: KernelEngine) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Random legal actions after `reset(seed=1)`, drawn beforehand."""
    draw, played = np.random.default_rng(1), []
    engine.reset(seed=1)
    for _ in range(ROUNDS):
        masks = engine.legal()
        played.append((draw.random(masks.shape) * masks).argmax(1))
        engine.step(played[-1])
        over = np.flatnonzero(engine.over)
        if len(over):
            engine.reset(over)
    return np.stack(played)


def _texts(game: Game, games: int) -> Callable[[], int]:
    engine, rows = KernelEngine(game, games, seed=1), np.arange(games)
    engine.reset()
    assert game.language is not None
    write = game.language.styles["grid"]
    return lambda: len(write(engine.state, rows, 0))  # type: ignore[arg-type]


def _rooms(preset: str, count: int) -> Callable[[], int]:
    options, first = SokobanOptions(**PRESETS[preset]), 0

    def step() -> int:
        nonlocal first
        first += count
        return len(draw_rooms(options, np.arange(first - count, first)))

    return step


def _peer(options: SokobanBenchmarkOptions, arguments: tuple[str, ...], stored: float) -> dict[str, Any]:
    """Rates of a peer, per second of processor time, or why there are none."""
    if options.peer_python is None:
        return {"stored": stored, "problem": "no --peer-python"}
    try:
        worker = WorkerProcess(peer_command(options.peer_python, "sokoban", *arguments))
        try:
            worker.measure(options.seconds * WARM_UP, True)
            samples = [worker.measure(options.seconds, True) for _ in range(options.repeats)]
        finally:
            worker.close()
    except MissingContestant as problem:
        return {"stored": stored, "problem": str(problem)}
    rounds = [sample.steps / sample.cpu_seconds for sample in samples]
    return {"stored": stored, "median": median(rounds), "rounds": rounds}


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    rows = [
        (name, f"{found['median']:,.0f}", f"{found['bar']:,.0f}" if found["bar"] else "", report["includes"][name])
        for name, found in report["per_cpu_second"].items()
    ]
    yield table(f"Sokoban, {report['games']} games, one core", ("measured", "per CPU second", "bar", "includes"), rows)
    rules = report["per_cpu_second"]["rules"]["median"]
    peers = [
        (
            name,
            f"{rate:,.0f}",
            f"{rules / rate:,.0f}",
            f"stored: {found['problem']}" if "problem" in found else "this run",
        )
        for name, found in report["peers"].items()
        for rate in [found.get("median", found["stored"])]
    ]
    yield table("Peers, steps", ("engine", "per CPU second", "rules are faster by", "measured in"), peers)
