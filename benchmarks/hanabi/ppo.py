"""Train PPO on a Hanabi for a given time, and compare its score with that of a rule bot on the same decks.

Where a bomb costs all points, nearly every game of a beginner is worth 0 and there is nothing to learn from. So training starts with
the game in which a bomb keeps the points and ends with the real one; the score is that of the real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from ludory.algorithms.ppo import PPO
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.envs.make import make_game

from .score import score_beside, score_lines

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
"""By device: a network with memory is too slow on a CPU."""
FINE = {"learning_rate": 3e-4, "ent_coef": 0.01}
"""Changes of the last stage."""
RIVAL = "hanabi/iggi"
FOREVER = 10**12


@dataclass(frozen=True, slots=True)
class HanabiPPOOptions:
    """Options of `ludory bench hanabi-ppo`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    minutes: float = 30.0
    """Of training in all."""
    warmup: float = 0.5
    """Share of it on the game in which a bomb keeps the points."""
    seed: int = 1
    """Of the training."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where games and network live."""
    policy: str | None = None
    """Network, e.g. 'gru(memory_size=128)'; none: mlp on a CPU, a GRU on CUDA."""
    games: int = 2000
    """Of the evaluation."""
    decks: int = 1_000_003
    """Seed of the evaluation's decks, unlike the training's."""
    out: Path = Path("runs/hanabi-ppo")
    """Folder for agents and the result."""


@benchmark("hanabi-ppo")
def run(options: HanabiPPOOptions) -> Result:
    """Train stage by stage, evaluate."""
    rest = 1 - options.warmup
    stages: list[tuple[str, dict[str, str], float, dict[str, Any]]] = [
        ("keep", {"bomb": "keep"}, options.warmup, {}),
        ("zero", {}, 0.6 * rest, {}),
        ("fine", {}, 0.4 * rest, FINE),
    ]
    settings = CUDA_SETTINGS if options.device == "cuda" else SETTINGS
    before: Path | None = None
    log = []
    for name, rules, share, changes in stages:
        if share > 0:
            file = options.out / f"{options.game}-seed{options.seed}-{name}.ludory"
            log.append({"stage": name} | _train(options, rules, share, settings | changes, file, before))
            before = file
    assert before is not None
    agent = PPO.load(before).as_agent()
    report = {
        "game": options.game,
        "seed": options.seed,
        "stages": log,
        "evaluation": score_beside(agent, RIVAL, options.game, options.games, options.decks),
    }
    print(f"agent in {before}")
    return Result(options.out / f"hanabi-ppo-{options.game}-seed{options.seed}.json", report, _shown)


def _train(
    options: HanabiPPOOptions,
    rules: dict[str, str],
    share: float,
    settings: dict[str, Any],
    file: Path,
    before: Path | None,
) -> dict[str, Any]:
    policy = options.policy or POLICIES[options.device]
    model = PPO(
        policy,
        make_game(options.game, **rules),
        **settings,
        seed=options.seed,
        device=options.device,
        init_from=str(before) if before else None,
    )
    started = monotonic()
    if received := train_to_file(model, FOREVER, file, minutes=options.minutes * share, progress_bar=True):
        raise_interrupt(received)
    seconds = monotonic() - started
    return {
        "timesteps": model.num_timesteps,
        "minutes": round(seconds / 60, 2),
        "timesteps_per_second": round(model.num_timesteps / seconds),
        "options": rules,
        "policy": policy,
        "settings": settings,
    }


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for one in report["stages"]:
        speed = f"{one['timesteps_per_second']:,}/s"
        yield f"{one['stage']}: {one['timesteps']:,} steps in {one['minutes']} min, {speed}"
    yield from score_lines(report["evaluation"], RIVAL)
