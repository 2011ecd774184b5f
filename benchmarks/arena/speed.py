"""`ludory bench arena`: duels per second of the engine, the scripts, a sampler with a network, a whole evaluation, and a league that learns."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import ludory
from ludory.agents.make import make_agent
from ludory.agents.networks.build import build_policy, parse_policy
from ludory.algorithms.league.config import LeagueConfig
from ludory.algorithms.league.crew import LeaguePlace
from ludory.algorithms.league.evaluator import Evaluator
from ludory.algorithms.league.messages import EvaluationOrder
from ludory.algorithms.league.opponent_runners import Opponent
from ludory.algorithms.league.run import start_league
from ludory.algorithms.make import make_algorithm
from ludory.algorithms.running.threads import one_thread
from ludory.algorithms.sampling.lanes import make_lanes
from ludory.algorithms.sampling.sampler import Sampler
from ludory.arguments import located_out
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.benchmarks.harness.timing import processor_rates
from ludory.cluster.placement import PlacedOn
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.make import make_engine, make_game

from .league_run import STYLES

GAME, GAMES = "Arena2P-v0", 512
BATCH, LENGTH = 1024, 128
"""Games and rounds of the engine's measurement."""
NETWORK = "mlp(hidden=(128, 128))"
BARS = {"engine": 800_000, "sampler": 200_000}
"""Decisions per second that we claim for an idle core."""
LEAGUE: dict[str, Any] = {"roles": (1, 1, 1), "unit": 2_000_000, "slice_steps": 250_000}
"""Options of the league that differ from its defaults: those of a run of 128 million agent steps."""
LEARNER: dict[str, Any] = {
    "num_envs": 512,
    "n_steps": 64,
    "batch_size": 4096,
    "n_epochs": 2,
    "gamma": 0.998,
    "shaping": 0.5,
    "learning_rate": 5e-4,
    "ent_coef": 0.005,
}
"""Options of its learners, which are `ppo`."""
WIDTHS = (128, 256)
"""Units of both hidden layers of its networks."""
LEAGUE_BAR = 60_000
"""Agent steps per second that we claim for a league of the narrower networks on two idle cores."""


def run(argv: list[str]) -> int:
    """Measure, print, write; returns the exit code."""
    parser = argparse.ArgumentParser("ludory bench arena", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a measurement (default 3)")
    parser.add_argument("--repeats", type=int, default=5, help="measurements, the median counts (default 5)")
    parser.add_argument("--players", type=int, default=20, help="of the evaluation, all pairs (default 20)")
    parser.add_argument("--duels", type=int, default=200, help="of a pair (default 200)")
    parser.add_argument(
        "--league-steps", type=int, default=4_000_000, help="agent steps of each league; 0: none (default 4000000)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes of a league (default 2)")
    parser.add_argument(
        "--out", type=located_out, default=Path("runs/arena"), help="folder of the result (default runs/arena)"
    )
    options = parser.parse_args(argv)
    started_from = origin()
    works: dict[str, Callable[[], Callable[[], int]]] = {
        "engine": lambda: _engine("ego19"),
        "engine, full": lambda: _engine("full"),
        "scripts": _scripts,
        "sampler": lambda: _sampler("ego19"),
        "sampler, full": lambda: _sampler("full"),
    }
    with one_thread():
        rates = {name: processor_rates(start(), options.seconds, options.repeats) for name, start in works.items()}
        evaluation = _evaluation(options.players, options.duels)
    leagues = {width: _league(width, options) for width in WIDTHS if options.league_steps}
    report = {
        "benchmark": "arena",
        "game": GAME,
        "network": NETWORK,
        "includes": {
            "engine": "one core: random legal play of both seats, observations and masks of both, new games where one ends; a decision is one seat's",
            "scripts": "one core: two styles play; a decision is one seat's",
            "sampler": "one core: both seats by the network, all heads drawn, everything that a learner stores",
        },
        "decisions_per_second": {name: {"median": median(found), "rounds": found} for name, found in rates.items()},
        "bars": BARS,
        "evaluation": evaluation,
        "league": {
            "includes": "all of it: games against past and present players, learning, evaluations, files; an agent step is a decision that is learnt from",
            "options": LEAGUE,
            "learner": {"ppo": LEARNER},
            "bar": LEAGUE_BAR,
            "by_width": leagues,
        },
        **started_from,
    }
    target = options.out / "arena.json"
    write_result(target, report)
    _print(report)
    print(f"result in {target}")
    return 0


def _engine(observation: str) -> Callable[[], int]:
    """Replay `LENGTH` rounds of random legal play, drawn once so that drawing is not measured."""
    engine = KernelEngine(make_game(GAME, observation=observation), BATCH, seed=1, threads=1)
    moves = _random_play(engine)

    def step() -> int:
        engine.reset(seed=1)
        for actions in moves:
            engine.step(actions)
            over = np.flatnonzero(engine.terminated)
            if len(over):
                engine.reset(over)
            engine.observe()
            engine.legal()
        return 2 * engine.num_games * len(moves)

    return step


def _random_play(engine: KernelEngine) -> list[NDArray[np.int64]]:
    """Actions of all rounds, legal after `reset(seed=1)`."""
    agent = make_agent("random(seed=1)", engine.game)
    engine.reset(seed=1)
    moves = []
    for _ in range(LENGTH):
        masks = engine.legal()
        chosen, _ = agent.act(engine.observe().reshape(2 * BATCH, -1), masks.reshape(2 * BATCH, -1), None)
        moves.append(np.ascontiguousarray(chosen, np.int64).reshape(BATCH, 2, -1))
        engine.step(moves[-1])
        over = np.flatnonzero(engine.terminated)
        if len(over):
            engine.reset(over)
    return moves


def _scripts() -> Callable[[], int]:
    seeds, one, other = count(1), "arena/sniper", "arena/turtle"
    game = make_game(GAME)
    agents = {name: make_agent(name, game) for name in (one, other)}
    order = EvaluationOrder(one, other, 0, 512)
    decisions = 2 * Evaluator(game, agents.__getitem__, seed=1).play([order])[0].length  # about, in 512 duels

    def step() -> int:
        ludory.evaluate([one, other], game=GAME, games=512, seed=next(seeds))
        return decisions

    return step


def _sampler(observation: str) -> Callable[[], int]:
    game = make_game(GAME, observation=observation)
    engine = make_engine(game, GAMES, seed=1, threads=1)
    torch.manual_seed(1)
    policy = build_policy(parse_policy(NETWORK), game.facts)
    sampler, generator = Sampler(make_lanes(game, engine, "all", "random")), torch.Generator().manual_seed(1)

    def step() -> int:
        sampler.collect(policy, 32, generator)
        return 32 * 2 * GAMES

    return step


def _evaluation(players: int, duels: int) -> dict[str, Any]:
    """All pairs of networks and scripts."""
    game = make_game(GAME)
    agents: dict[str, Opponent] = {name: make_agent(name, game) for name in STYLES[: players // 2]}
    for number in range(players - len(agents)):
        torch.manual_seed(number)
        agents[f"network{number}"] = build_policy(parse_policy(NETWORK), game.facts)
    names = list(agents)
    orders = [EvaluationOrder(i, j, 0, duels) for k, i in enumerate(names) for j in names[k + 1 :]]
    evaluator = Evaluator(game, agents.__getitem__, seed=1)
    evaluator.play(orders[:1])  # compiles
    started, processor = time.perf_counter(), time.process_time()
    played = evaluator.play(orders)
    return {
        "players": players,
        "pairs": len(orders),
        "duels_of_a_pair": duels,
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
        "agent_steps": 2 * sum(one.length for one in played),
    }


def _league(width: int, options: argparse.Namespace) -> dict[str, Any]:
    """Agent steps per second once every learner has had a turn, so that the start of the processes is left out."""
    settings = {**LEARNER, "hidden": (width, width)}
    game = make_game(GAME, observation="tactical")
    with TemporaryDirectory() as folder, PlacedOn(jobs=options.jobs).open() as workers:
        start = Path(folder) / "start.ludory"
        make_algorithm("ppo", env=game, seats="all", **{**settings, "num_envs": 1}).save_policy(start)
        config = LeagueConfig(
            env=GAME,
            options=game.options,
            init_from=str(start),
            budget_steps=options.league_steps,
            learner="ppo",
            learner_options=settings,
            **LEAGUE,
        )
        with start_league(config, Path(folder) / "league", LeaguePlace(workers, in_order=False)) as league:
            for _ in range(sum(LEAGUE["roles"])):
                league.slice()
            steps, started = league.state.env_steps, time.perf_counter()
            league.run()
            seconds = time.perf_counter() - started
            return {
                "jobs": options.jobs,
                "agent_steps": league.state.env_steps - steps,
                "seconds": seconds,
                "per_second": (league.state.env_steps - steps) / seconds,
                "matches": league.state.matches,
                "evaluated_pairs": len(league.state.blocks),
            }


def _print(report: dict[str, Any]) -> None:
    table = Table("what", "decisions/s", "bar")
    for name, found in report["decisions_per_second"].items():
        table.add_row(name, f"{found['median']:,.0f}", f"{BARS[name]:,}" if name in BARS else "")
    console = Console(width=100)
    console.print(table)
    for width, one in report["league"]["by_width"].items():
        console.print(
            f"league, networks of {width}-{width} units, {one['jobs']} processes: {one['per_second']:,.0f} agent steps a second"
            + (f" (bar {LEAGUE_BAR:,})" if width == WIDTHS[0] else "")
        )
    one = report["evaluation"]
    console.print(
        f"{one['pairs']} pairs x {one['duels_of_a_pair']} duels: {one['seconds']:.1f} s, {one['agent_steps']:,} agent steps"
    )
