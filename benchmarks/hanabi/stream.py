"""Clone a rule bot from games that it plays while the network learns, seed by seed, and compare both on the same decks.

Nothing is recorded: every decision is learnt from once or a few times, and no game comes twice. The command goes on where an earlier one
stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from ludory.algorithms.bc import BC
from ludory.atomic import atomic_file
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.parts import check_setting
from ludory.envs.make import make_game
from ludory.reading import read_json

from .score import score_beside, score_lines, train_planned

SETTINGS: dict[str, Any] = {
    "batch_size": 1024,
    "learning_rate": 2e-3,
    "final_learning_rate": 1e-4,
    "label_smoothing": 0.0,
    "value_coef": 0.01,
}


@dataclass(frozen=True, slots=True)
class HanabiStreamOptions:
    """Options of `ludory bench hanabi-stream`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    bot: str = "hanabi/smartbot"
    """Deterministic rule bot to clone."""
    observation: str = "conventions"
    """What the network sees; "conventions" and "tactical" have hand-made features, "card_knowledge" is the canonical observation."""
    policy: str = "mlp(hidden=(256,256))"
    """The network."""
    epochs: Count = 10
    """Of `decisions` each."""
    decisions: Count = 1_000_000
    """Of an epoch."""
    seeds: tuple[Natural, ...] = (1, 2, 3)
    """Of games and trainings."""
    games: Count = 5000
    """Of the evaluation."""
    decks: Natural = 4_000_037
    """Seed of the evaluation's decks, on which no setting was chosen."""
    out: Path = Path("runs/hanabi-stream")
    """Folder for clones and result."""


@benchmark("hanabi-stream", resumes=True)
def run(options: HanabiStreamOptions) -> Result:
    """Clone and evaluate every seed."""
    name = f"{options.game}-{options.observation}"
    told = {
        "bot": options.bot,
        "policy": options.policy,
        "epochs": options.epochs,
        "epoch_decisions": options.decisions,
        "settings": SETTINGS,
    }
    check_setting(options.out / f"{name}-setting.json", told)
    report = {
        "game": options.game,
        "observation": options.observation,
        **told,
        "clones": [_clone(options, options.out / f"{name}-seed{seed}.ludory", seed) for seed in options.seeds],
    }
    return Result(options.out / f"hanabi-stream-{name}.json", report, _shown)


def _clone(options: HanabiStreamOptions, file: Path, seed: int) -> dict[str, Any]:
    """The figures of one seed."""
    seen = {"observation": options.observation}
    if file.exists():
        model = BC.load(file)
    else:
        more: dict[str, Any] = {
            "stream": options.bot,
            "stream_decisions": options.decisions,
            "num_epochs": options.epochs,
        }
        model = BC(options.policy, make_game(options.game, **seen), seed=seed, **more, **SETTINGS)
    spent = trained_seconds(model, file)
    return {
        "seed": seed,
        "cpu_seconds": round(spent, 1),
        "decisions": model.num_timesteps,
        "evaluation": score_beside(model.as_agent(), options.bot, options.game, options.games, options.decks, **seen),
    }


def trained_seconds(model: BC, file: Path) -> float:
    """Train a model to its end; returns the CPU seconds of all commands that did so."""
    clock = file.with_suffix(".cpu.json")
    before, began = (float(read_json(clock)["seconds"]) if clock.exists() else 0.0), process_time()
    unfinished = not model.finished
    try:
        train_planned(model, file)
    finally:
        spent = before + (process_time() - began if unfinished else 0.0)
        with atomic_file(clock, "w") as handle:
            json.dump({"seconds": spent}, handle)
    return spent


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for clone in report["clones"]:
        yield f"seed {clone['seed']}: {clone['decisions']:,} decisions in {clone['cpu_seconds'] / 60:.1f} CPU minutes"
        yield from score_lines(clone["evaluation"], report["bot"])
