"""`ludory bench pokemon`: turns per CPU second of random play, beside the bare simulator. CPU seconds are user + system of all processes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.make import make_engine
from ludory.envs.pokemon.backends.install import needed
from ludory.envs.pokemon.engine import PokemonEngine

BARS = {
    "gen1randombattle": {"masks": 2000, "entity": 900},
    "gen9randombattle": {"masks": 600, "entity": 350},
}
"""Turns per CPU second that we claim for one idle core."""
SHARE = 0.85
"""Of the bare simulator, that masks alone must reach."""


def run(argv: list[str]) -> int:
    """Measure, print, write; returns the exit code."""
    parser = argparse.ArgumentParser("ludory bench pokemon", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="CPU seconds of a measurement (default 8)")
    parser.add_argument("--repeats", type=int, default=3, help="measurements, in turns; the median counts (default 3)")
    parser.add_argument("--games", type=int, default=64, help="battles at a time (default 64)")
    parser.add_argument("--formats", nargs="+", default=list(BARS), help=f"default {' '.join(BARS)}")
    parser.add_argument("--out", type=Path, default=Path("runs/pokemon"), help="folder of the result")
    chosen = parser.parse_args(argv)
    started_from, rates = origin(), {}
    for format in chosen.formats:
        works: dict[str, Callable[[str], float]] = {
            "bare": lambda format: _bare(format, chosen.seconds),
            "masks": lambda format: _engine(format, "none", chosen.games, chosen.seconds),
            "entity": lambda format: _engine(format, "entity", chosen.games, chosen.seconds),
        }
        found: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(chosen.repeats):
            for name, work in works.items():
                found[name].append(work(format))
        rates[format] = {name: {"median": median(values), "rounds": values} for name, values in found.items()}
        _print(format, {name: median(values) for name, values in found.items()})
    report: dict[str, Any] = {"benchmark": "pokemon", "turns_per_cpu_second": rates, "bars": BARS, "share": SHARE}
    write_result(chosen.out / "pokemon.json", report | started_from)
    print(f"result in {chosen.out / 'pokemon.json'}")
    return 0


def _print(format: str, found: dict[str, float]) -> None:
    print(f"{format}, turns per CPU second")
    for name, rate in found.items():
        bar = BARS.get(format, {}).get(name)
        wanted = f", bar {bar:,}: {'met' if rate >= bar else 'missed'}" if bar else ""
        print(f"  {name:8} {rate:8,.0f}  {rate / found['bare']:5.0%} of the bare simulator{wanted}", flush=True)


def _bare(format: str, seconds: float) -> float:
    """Battles one after another in one Node process, with nothing around them."""
    folder, node = needed()
    with as_file(files("ludory.benchmarks.pokemon").joinpath("bare.js")) as script:
        done = subprocess.run(
            [node, script, format, str(seconds)], cwd=folder, capture_output=True, text=True, check=True
        )
    answer = json.loads(done.stdout)
    return float(answer["turns"] / answer["cpu_seconds"])


def _engine(format: str, observation: str, games: int, seconds: float) -> float:
    """Random legal play of both seats, with the engine's own process and its Node child."""
    engine = make_engine("Pokemon-v0", games, seed=1, format=format, observation=observation, workers=0)
    assert isinstance(engine, PokemonEngine)
    draw = np.random.default_rng(1)
    try:
        engine.reset()
        _play(engine, draw, seconds / 2)  # until the code is compiled
        turns, spent = _play(engine, draw, seconds)
    finally:
        engine.close()
    return turns / spent


def _play(engine: PokemonEngine, draw: np.random.Generator, seconds: float) -> tuple[int, float]:
    """Turns played and CPU seconds spent, at least `seconds`."""
    pids, turns = engine.pids(), 0
    start = _spent(pids)
    while (spent := _spent(pids) - start) < seconds:
        before, legal = engine.turns.copy(), engine.state.legal
        engine.step(np.where(legal, draw.random(legal.shape, dtype=np.float32), -1).argmax(-1)[..., None])
        turns += int((engine.turns - before).sum())
        over = np.flatnonzero(engine.over)
        if len(over):
            engine.reset(over)
    return turns, spent


def _spent(pids: Sequence[int]) -> float:
    """CPU seconds of this process and of `pids`."""
    own = os.times()
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return own.user + own.system + ticks / os.sysconf("SC_CLK_TCK")
