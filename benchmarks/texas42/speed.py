"""Measure what one core does of Texas 42: the engine, the solver, the sampler of worlds, and players.

Rates are per second of processor time, medians of several measurements. No other library has the game, so there is no peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.agents.make import make_agent
from ludory.agents.texas42.expected_value.decision_value import WorldSampling
from ludory.agents.texas42.play.choice import Averager, question_of
from ludory.agents.texas42.solver.solver import Positions, Solver, positions, positions_of
from ludory.agents.texas42.solver.tabulator import Tabulation
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.texas42.data.eq import EqSettings, record_game
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Seconds
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.benchmarks.harness.timing import processor_rates
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_game
from ludory.envs.seats.table import Table
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import STRAIGHT, mask_of
from ludory.envs.texas42.worlds import Worlds, knowledge

GAMES, LENGTH, DEALS, WORLDS = 1024, 100, 64, 100_000
"""Games of the engine, and moves in each; deals of a call of the solver; worlds of a call of the sampler."""
Step = Callable[[], int]


class Work(NamedTuple):
    """A thing that is measured."""

    start: Callable[[], Step]
    unit: str
    bar: float | None
    """Least rate that we claim for an idle core, in units a second."""
    milliseconds: bool = True
    """Whether it is shown in milliseconds per unit instead."""


@dataclass(frozen=True, slots=True)
class SpeedOptions:
    """Options of `ludory bench texas42-speed`."""

    seconds: Seconds = 3.0
    """Of a measurement."""
    repeats: Count = 5
    """Measurements; the median counts."""
    out: Path = Path("runs/texas42-speed")
    """Folder of the result."""


@benchmark("texas42-speed")
def run(options: SpeedOptions) -> Result:
    """Measure every work on one thread."""
    with one_thread():
        found = {name: processor_rates(work.start(), options.seconds, options.repeats) for name, work in WORKS.items()}
    rates = {
        name: {"unit": WORKS[name].unit, "median": median(rounds), "rounds": rounds, "bar": WORKS[name].bar}
        for name, rounds in found.items()
    }
    report = {"clock": "processor time of one thread", "rates": rates}
    return Result(options.out / "texas42-speed.json", report, _shown)


# --- What is measured -----------------------------------------------------------------------------------------------------


def _deals() -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Hands (DEALS, 4) of the first seeds, and a declaration for each."""
    hands = np.array([[mask_of(hand) for hand in seed_deal(seed)] for seed in range(DEALS)], np.int32)
    return hands, np.array([STRAIGHT[seed % len(STRAIGHT)] for seed in range(DEALS)])


def _environment() -> Step:
    """Whole hands with auctions, by random legal moves that were drawn before; observation and mask after every move."""
    engine = KernelEngine(make_game("Texas42-v0"), GAMES, seed=1, threads=1)
    engine.reset(seed=1)
    draw, moves = np.random.default_rng(1), list[NDArray[np.int64]]()

    def play(actions: NDArray[np.int64]) -> None:
        engine.step(actions)
        if len(over := np.flatnonzero(engine.over)):
            engine.reset(over)
        engine.observe()
        engine.legal()

    for _ in range(LENGTH):
        moves.append((engine.legal() * draw.random((GAMES, 64))).argmax(axis=1))
        play(moves[-1])

    def step() -> int:
        engine.reset(seed=1)
        for actions in moves:
            play(actions)
        return GAMES * len(moves)

    return step


def _exact() -> Step:
    solver, (hands, decl) = Solver(threads=1), _deals()
    given = positions(hands, decl, 0)
    return lambda: len(solver.value(given))


def _makes() -> Step:
    solver, (hands, decl) = Solver(threads=1), _deals()
    given = positions(hands, decl, 0)
    return lambda: len(solver.makes(given, 30))


def _all_tiles() -> Step:
    """Every tile at every decision of hands that are played at random."""
    engine = KernelEngine(make_game("Texas42Play-v0"), DEALS, seed=3)
    engine.reset()
    draw, parts = np.random.default_rng(3), list[Positions]()
    while not engine.over.any():
        parts.append(positions_of(engine.state))
        engine.step((engine.legal() * draw.random((DEALS, 28))).argmax(axis=1))
    given = Positions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    solver = Solver(threads=1)
    return lambda: len(solver.q_values(given)[0])


def _tabulation() -> Step:
    seeds = count()

    def step() -> int:
        seed = next(seeds)
        deal = [tile for hand in seed_deal(seed) for tile in hand]
        Tabulation(deal, STRAIGHT[seed % len(STRAIGHT)])
        return 1

    return step


def _worlds() -> Step:
    """Before the second trick, where most is unknown and some seats have shown that they lack a suit."""
    engine = KernelEngine(make_game("Texas42Play-v0"), 1, seed=5)
    engine.reset()
    for _ in range(5):
        engine.step(engine.legal().argmax(axis=1))
    worlds, keys = Worlds(knowledge(engine.state, 0, int(engine.to_move[0]))), count()
    return lambda: len(worlds.sample(WORLDS, next(keys)))


def _pimc() -> Step:
    """Choices among several tiles, in hands that four of it play; every choice alone."""
    averager, hands = Averager(Solver(threads=1), 10), count()

    def step() -> int:
        engine = KernelEngine(make_game("Texas42Play-v0", reward="make", early_stop=True), 1, seed=next(hands))
        engine.reset()
        choices = 0
        while engine.to_move[0] >= 0:
            legal = engine.legal()[0]
            choices += int(legal.sum() > 1)
            tile = averager.tiles([question_of(engine.state, 0, legal, choices)])[0]
            engine.step(np.array([tile]))
        return choices

    return step


def _quick() -> Step:
    """Whole hands of four of it."""
    engine = KernelEngine(make_game("Texas42Play-v0"), GAMES, seed=2, threads=1)
    table = Table(engine, [make_agent("texas42/quick", engine.game)] * 4)

    def step() -> int:
        table.start()
        return GAMES * 28

    return step


def _expected() -> Step:
    solver, seeds = Solver(threads=1), count()
    settings = EqSettings(WorldSampling(50, 50))

    def step() -> int:
        record_game(next(seeds), settings, solver)
        return 1

    return step


WORKS = {
    "engine, observations and masks": Work(_environment, "decisions", 1e6, milliseconds=False),
    "exact value of a deal": Work(_exact, "deals", 1000 / 2),
    "whether a deal makes 30": Work(_makes, "deals", 1000 / 0.3),
    "all tiles at a decision of a hand": Work(_all_tiles, "decisions", 1000 / 0.35),
    "all states of a deal (tabulator)": Work(_tabulation, "deals", 1),
    "worlds drawn uniformly": Work(_worlds, "worlds", 1e6, milliseconds=False),
    "texas42/pimc(worlds=10), a choice": Work(_pimc, "choices", 1000 / 5),
    "texas42/quick, a choice": Work(_quick, "choices", None, milliseconds=False),
    "E[Q] of a hand, 50 worlds": Work(_expected, "hands", 2, milliseconds=False),
}


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    yield table("Texas 42, one core", ("what", "measured", "bar"), rows(report))


def rows(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What was measured, its rate or milliseconds, and the bar."""
    for name, one in report["rates"].items():
        slow = WORKS[name].milliseconds
        yield (
            name,
            _written(one["median"], one["unit"], slow),
            _written(one["bar"], one["unit"], slow) if one["bar"] else "",
        )


def _written(rate: float, unit: str, milliseconds: bool) -> str:
    if milliseconds:
        return f"{1000 / rate:.2f} ms"
    return f"{rate:,.0f} {unit}/s" if rate >= 100 else f"{rate:.1f} {unit}/s"
