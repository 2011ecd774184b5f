"""PPO learns Sokoban from planes, with a multi-layer perceptron on one core; scores in rooms that it has never seen.

Training draws rooms of the split "train", the evaluation rooms of the split "test": no room is in both. Random moves and the solver play
the same rooms, with the game's own limit of 100 moves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate
from ludory.algorithms.make import make_algorithm
from ludory.algorithms.running.threads import one_thread
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.terminal import Shown, table
from ludory.envs.make import make_game

GAME = "Sokoban-v0"
SETTINGS: Mapping[str, Any] = {
    "hidden": (512, 256),
    "gamma": 0.97,
    "learning_rate": 1e-3,
    "final_learning_rate": 1e-4,
    "ent_coef": 0.02,
    "final_ent_coef": 0.001,
    "normalize_values": True,
}
BAR, MINUTES = 0.9, 30.0
"""Success in unseen rooms within 15 minutes on two cores, which are 30 CPU-minutes."""


@dataclass(frozen=True, slots=True)
class SokobanPPOOptions:
    """Options of `ludory bench sokoban-ppo`."""

    timesteps: Count = 5_000_000
    """Moves of the training."""
    games: Count = 1000
    """Of each evaluation."""
    seed: Natural = 1
    """Of the training; evaluations have a seed of their own."""
    out: Path = Path("runs/sokoban-ppo")
    """Folder of the model and the result."""


@benchmark("sokoban-ppo")
def run(options: SokobanPPOOptions) -> Result:
    """Train, then play rooms of both splits."""
    with one_thread():
        started = time.process_time()
        model = make_algorithm("ppo", env=make_game(GAME, split="train"), seed=options.seed, **SETTINGS)
        model.learn(options.timesteps)
        minutes = (time.process_time() - started) / 60
    model.save(options.out / f"{GAME}.ludory")
    players: Mapping[str, str | Agent] = {"ppo": model.as_agent(), "random": "random", "optimum": "sokoban/solver"}
    report = {
        "game": GAME,
        "settings": dict(SETTINGS),
        "timesteps": options.timesteps,
        "seed": options.seed,
        "games": options.games,
        "cpu_minutes": round(minutes, 2),
        "bar": {"success": BAR, "cpu_minutes": MINUTES},
        "unseen": {name: _score(player, "test", options.games) for name, player in players.items()},
        "seen": {"ppo": _score(players["ppo"], "train", options.games)},
    }
    return Result(options.out / "sokoban-ppo.json", report, _shown)


def _score(player: str | Agent, split: str, games: int) -> dict[str, list[float]]:
    """Mean and standard error over games: share of rooms solved, return, moves."""
    found = evaluate(player, make_game(GAME, split=split), games, seed=1_000_003)
    outcomes = {"success": found.outcomes["success"], "return": found.returns[:, 0], "moves": found.outcomes["steps"]}
    values = {name: np.asarray(each, np.float64) for name, each in outcomes.items()}
    return {
        name: [round(float(each.mean()), 4), round(float(each.std(ddof=1) / np.sqrt(games)), 4)]
        for name, each in values.items()
    }


def _shown(report: Mapping[str, Any]) -> Iterator[Shown]:
    rows = [
        [player, rooms, *(f"{mean:.2f} ± {error:.2f}" for mean, error in score.values())]
        for rooms in ("unseen", "seen")
        for player, score in report[rooms].items()
    ]
    title = f"{report['game']}: {report['timesteps']:,} moves of PPO in {report['cpu_minutes']:.1f} CPU-minutes"
    yield table(title, ["player", "rooms", "solved", "return", "moves"], rows)
    solved = report["unseen"]["ppo"]["success"][0]
    holds = solved >= report["bar"]["success"] and report["cpu_minutes"] <= report["bar"]["cpu_minutes"]
    yield (
        f"goal: {report['bar']['success']:.0%} of the unseen rooms within {report['bar']['cpu_minutes']:g} CPU-minutes: "
        f"{'reached' if holds else 'not reached'} ({solved:.1%})"
    )
