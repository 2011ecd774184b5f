"""`ludory bench hanabi-ppo`: PPO on a Hanabi for a given time, its score on the decks of a rule bot, one JSON file.

Where a bomb costs all points, nearly every game of a beginner is worth 0 and there is nothing to learn from. So it first plays the
game in which a bomb keeps the points, then the real one; it is scored on the real one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import monotonic
from typing import Any

from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.make import make_game

from .score import print_score, score_beside

SETTINGS: dict[str, Any] = {
    "num_envs": 1024,
    "n_steps": 32,
    "batch_size": 4096,
    "n_epochs": 2,
    "hidden": (128, 128),
    "learning_rate": 1e-3,
    "ent_coef": 0.02,
}
CUDA_SETTINGS: dict[str, Any] = {
    "num_envs": 8192,
    "n_steps": 64,
    "batch_size": 65536,
    "n_epochs": 2,
    "learning_rate": 7e-4,
    "ent_coef": 0.02,
    "gae_lambda": 0.9,
    "precision": "bf16",
    "compile": True,
}
POLICIES = {"cpu": "mlp", "cuda": "gru(hidden=(512,), memory_size=512)"}
"""A CPU has no time for memory; a GPU has."""
FINE = {"learning_rate": 3e-4, "ent_coef": 0.01}
"""Changes of the last stage."""
RIVAL = "hanabi/iggi"
FOREVER = 10**12


def run(argv: list[str]) -> int:
    """Train, evaluate, write; returns the exit code."""
    arguments = _parser().parse_args(argv)
    folder = Path(arguments.out)
    started_from = origin()  # before the work: the commit may move while it runs
    rest = 1 - arguments.warmup
    stages: list[tuple[str, dict[str, str], float, dict[str, Any]]] = [
        ("keep", {"bomb": "keep"}, arguments.warmup, {}),
        ("zero", {}, 0.6 * rest, {}),
        ("fine", {}, 0.4 * rest, FINE),
    ]
    settings = CUDA_SETTINGS if arguments.device == "cuda" else SETTINGS
    before: Path | None = None
    log = []
    for name, options, share, changes in stages:
        if share > 0:
            file = folder / f"{arguments.game}-seed{arguments.seed}-{name}.ludory"
            log.append({"stage": name} | _train(arguments, options, share, settings | changes, file, before))
            before = file
    assert before is not None
    agent = PPO.load(before).as_agent()
    report = {
        "benchmark": "hanabi-ppo",
        "game": arguments.game,
        "seed": arguments.seed,
        "stages": log,
        "evaluation": score_beside(agent, RIVAL, arguments.game, arguments.games, arguments.decks),
        **started_from,
    }
    target = folder / f"hanabi-ppo-{arguments.game}-seed{arguments.seed}.json"
    write_result(target, report)
    _print(report)
    print(f"agent in {before}, result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench hanabi-ppo", description=__doc__)
    parser.add_argument("--game", default="Hanabi2P-v0", help="id of a Hanabi (default Hanabi2P-v0)")
    parser.add_argument("--minutes", type=float, default=30.0, help="of training in all (default 30)")
    parser.add_argument(
        "--warmup",
        type=float,
        default=0.5,
        help="share of it on the game in which a bomb keeps the points (default 0.5)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the training (default 1)")
    parser.add_argument(
        "--device", default="cpu", choices=list(POLICIES), help="where games and network live (default cpu)"
    )
    parser.add_argument("--policy", help="network, e.g. 'gru(memory_size=128)' (default mlp on a CPU, a GRU on CUDA)")
    parser.add_argument("--games", type=int, default=2000, help="of the evaluation (default 2000)")
    parser.add_argument(
        "--decks", type=int, default=1_000_003, help="seed of the evaluation's decks, unlike the training's"
    )
    parser.add_argument("--out", default="runs/hanabi-ppo", help="folder for agents and the result")
    return parser


def _train(
    arguments: argparse.Namespace,
    options: dict[str, str],
    share: float,
    settings: dict[str, Any],
    file: Path,
    before: Path | None,
) -> dict[str, Any]:
    model = PPO(
        arguments.policy or POLICIES[arguments.device],
        make_game(arguments.game, **options),
        **settings,
        seed=arguments.seed,
        device=arguments.device,
        init_from=str(before) if before else None,
    )
    started = monotonic()
    if received := train_to_file(model, FOREVER, file, minutes=arguments.minutes * share, progress_bar=True):
        raise_interrupt(received)
    seconds = monotonic() - started
    return {
        "timesteps": model.num_timesteps,
        "minutes": round(seconds / 60, 2),
        "timesteps_per_second": round(model.num_timesteps / seconds),
        "options": options,
        "policy": arguments.policy or POLICIES[arguments.device],
        "settings": settings,
    }


def _print(report: dict[str, Any]) -> None:
    for stage in report["stages"]:
        print(
            f"{stage['stage']}: {stage['timesteps']:,} steps in {stage['minutes']} min, {stage['timesteps_per_second']:,}/s"
        )
    print_score(report["evaluation"], RIVAL)
