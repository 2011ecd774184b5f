"""`ludory bench pokemon`: turns per CPU second of random play, beside the bare simulator and poke-env with a local server.

Both backends that can be seeded are measured in turns, so that a machine that is busy at times is so for both.

CPU seconds are user + system of all processes. All contestants play both seats uniformly at random over legal choices in battles of
generated teams, and include the generation of teams.
"""

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

from ludory.arguments import located_out
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.make import make_engine
from ludory.envs.pokemon.backends.install import needed, needed_bundle
from ludory.envs.pokemon.backends.showdown import server_installation
from ludory.envs.pokemon.backends.v8 import check_mini_racer
from ludory.envs.pokemon.engine import PokemonEngine
from ludory.errors import PluginError

from .server_peer import server_sample

BARS = {
    "gen1randombattle": {"masks": 2000, "entity": 900},
    "gen9randombattle": {"masks": 600, "entity": 350},
}
"""Turns per CPU second that we claim for one idle core."""
SHARE = 0.85
"""Of the bare simulator, that masks alone must reach."""
V8_SHARE = 0.8
"""Of the same work with backend="sim", that backend="v8" must reach."""
INCLUDES = {
    "bare": "one Node process: battles side by side, random legal choices straight from the requests; no messages, no hashes of logs",
    "masks": "this process and its Node child: masks, ends with log hashes, the choice of actions by this benchmark",
    "entity": "as masks, with lines and requests of both seats, two trackers and two observations per battle",
    "v8 masks": "as masks with backend='v8': this process alone",
    "v8 entity": "as entity with backend='v8': this process alone",
    "server": "poke-env's process, the Showdown server and its children",
}
"""What each contestant's CPU seconds are spent on."""


def run(argv: list[str]) -> int:
    """Measure, print, write; returns the exit code."""
    parser = argparse.ArgumentParser("ludory bench pokemon", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="CPU seconds of a measurement (default 8)")
    parser.add_argument("--repeats", type=int, default=3, help="measurements, in turns; the median counts (default 3)")
    parser.add_argument("--games", type=int, default=64, help="battles at a time (default 64)")
    parser.add_argument(
        "--server-battles", type=int, default=100, help="battles of a measurement of poke-env (default 100)"
    )
    parser.add_argument("--formats", nargs="+", default=list(BARS), help=f"default {' '.join(BARS)}")
    parser.add_argument("--out", type=located_out, default=Path("runs/pokemon"), help="folder of the result")
    chosen = parser.parse_args(argv)
    started_from, rates, server_missing, v8_missing = origin(), {}, _missing_server(), _missing_v8()
    for format in chosen.formats:
        works: dict[str, Callable[[str], float]] = {
            "bare": lambda format: _bare(format, chosen.games, chosen.seconds),
            "masks": lambda format: _engine(format, "none", chosen.games, chosen.seconds),
            "v8 masks": lambda format: _engine(format, "none", chosen.games, chosen.seconds, "v8"),
            "entity": lambda format: _engine(format, "entity", chosen.games, chosen.seconds),
            "v8 entity": lambda format: _engine(format, "entity", chosen.games, chosen.seconds, "v8"),
        }
        if v8_missing is not None:
            works = {name: work for name, work in works.items() if not name.startswith("v8")}
        if server_missing is None:
            works["server"] = lambda format: _server(format, chosen.server_battles)
        found: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(chosen.repeats):
            for name, work in works.items():
                found[name].append(work(format))
        rates[format] = {name: {"median": median(values), "rounds": values} for name, values in found.items()}
        _print(format, {name: median(values) for name, values in found.items()})
    for name, missing in (("server", server_missing), ("v8", v8_missing)):
        if missing is not None:
            print(f"  {name:9} not measured: {missing}")
    report: dict[str, Any] = {
        "benchmark": "pokemon",
        "turns_per_cpu_second": rates,
        "includes": INCLUDES,
        "bars": BARS,
        "share": SHARE,
        "v8_share": V8_SHARE,
    }
    write_result(chosen.out / "pokemon.json", report | started_from)
    print(f"result in {chosen.out / 'pokemon.json'}")
    return 0


def _print(format: str, found: dict[str, float]) -> None:
    print(f"{format}, turns per CPU second")
    for name, rate in found.items():
        bar, share = BARS.get(format, {}).get(name), rate / found["bare"]
        wanted = f", bar {bar:,}: {_met(rate >= bar)}" if bar else ""
        wanted += f", bar {SHARE:.0%}: {_met(share >= SHARE)}" if name == "masks" else ""
        if name.startswith("v8"):
            of_sim = rate / found[name.removeprefix("v8 ")]
            wanted += f", {of_sim:.0%} of the same with sim, bar {V8_SHARE:.0%}: {_met(of_sim >= V8_SHARE)}"
        print(f"  {name:9} {rate:8,.0f}  {share:5.0%} of the bare simulator{wanted}", flush=True)


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _bare(format: str, games: int, seconds: float) -> float:
    """Battles side by side in one Node process, with nothing around them."""
    folder, node = needed()
    with as_file(files("ludory.benchmarks.pokemon").joinpath("bare.js")) as script:
        done = subprocess.run(
            [node, script, format, str(seconds), str(games)], cwd=folder, capture_output=True, text=True, check=True
        )
    answer = json.loads(done.stdout)
    return float(answer["turns"] / answer["cpu_seconds"])


def _missing_server() -> str | None:
    """Why poke-env with a local server cannot be measured here, and what to type; None if it can."""
    try:
        server_installation()
    except PluginError as error:
        return str(error)
    return None


def _missing_v8() -> str | None:
    """Why backend="v8" cannot be measured here, and what to type; None if it can."""
    try:
        check_mini_racer()
        needed_bundle()
    except PluginError as error:
        return str(error)
    return None


def _server(format: str, battles: int) -> float:
    """Random players of poke-env on a local Showdown server."""
    found = server_sample(format, battles)
    return found.steps / found.cpu_seconds


def _engine(format: str, observation: str, games: int, seconds: float, backend: str = "sim") -> float:
    """Random legal play of both seats, with the engine's own process and its Node child, if it has one."""
    engine = make_engine(
        "Pokemon-v0", games, seed=1, format=format, observation=observation, workers=0, backend=backend
    )
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
