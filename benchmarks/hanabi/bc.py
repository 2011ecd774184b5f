"""Record games of a rule bot, clone it, and compare the clone with the bot on the same decks.

The bot is deterministic, so the best possible accuracy is 1. Games, checkpoints and result lie in one folder; the command goes on
where an earlier one stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ludory.agents.evaluation.record import record
from ludory.algorithms.bc import BC
from ludory.algorithms.offline.batches import ask, read_batches
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.checkpoints.checkpoint import read_header
from ludory.data import TrajectoryDataset

from .score import score_beside, score_lines, train_planned

POLICY = "gru(hidden=(512,), memory_size=128)"
SETTINGS: dict[str, Any] = {
    "num_epochs": 18,
    "batch_size": 1024,
    "learning_rate": 2e-3,
    "final_learning_rate": 1e-4,
    "label_smoothing": 0.0,
    "value_coef": 0.01,
    "augment": True,
}

BATCH = 8192


@dataclass(frozen=True, slots=True)
class HanabiBCOptions:
    """Options of `ludory bench hanabi-bc`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    bot: str = "hanabi/iggi"
    """Deterministic agent to clone."""
    games: int = 20_000
    """Games to record."""
    seed: int = 1
    """Of the games and of the training."""
    eval_games: int = 2000
    """Games of the evaluation."""
    decks: int = 1_000_003
    """Seed of the evaluation's decks, unlike the recording's."""
    out: Path = Path("runs/hanabi-bc")
    """Folder for games, clone and result."""


@benchmark("hanabi-bc")
def run(options: HanabiBCOptions) -> Result:
    """Record, train, evaluate."""
    folder, games = options.out, options.out / "games"
    record(options.bot, options.game, options.games, games, seed=options.seed)
    target = folder / f"hanabi-bc-{options.game}-seed{options.seed}.json"
    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    model, extended_from = _trained(options, games)
    report = {
        "game": options.game,
        "seed": options.seed,
        "bot": options.bot,
        "games": options.games,
        "policy": POLICY,
        "settings": SETTINGS,
        "extended_from_epochs": extended_from or before.get("extended_from_epochs"),
        "held_out": _held_out(model, games),
        "evaluation": score_beside(model.as_agent(), options.bot, options.game, options.eval_games, options.decks),
    }
    print(f"clone in {folder / 'clone.ludory'}")
    return Result(target, report, _shown)


def _trained(options: HanabiBCOptions, games: Path) -> tuple[BC, int | None]:
    """The clone, and the number of epochs that an earlier command was to train it for, where that was smaller."""
    file, extended_from = options.out / "clone.ludory", None
    if file.exists():
        planned = read_header(file)["config"]["num_epochs"]
        extended_from = planned if planned < SETTINGS["num_epochs"] else None
        model = BC.load(file, dataset=str(games), num_epochs=max(planned, SETTINGS["num_epochs"]))
    else:
        model = BC(POLICY, options.game, dataset=str(games), seed=options.seed, **SETTINGS)
    train_planned(model, file)
    return model, extended_from


def _held_out(model: BC, games: Path) -> dict[str, float]:
    """Number of the bot's decisions in test games, and the share of them that the clone makes too."""
    right = decisions = 0
    with torch.no_grad():
        for batch in read_batches(TrajectoryDataset(games, "test"), BATCH, whole_games=model.policy.recurrent):
            said = ask(model.policy, batch)
            found = model.policy.distribution(said.logits, said.masks).mode()
            right += int((found == said.actions).all(-1).sum())
            decisions += len(said.actions)
    return {"decisions": decisions, "accuracy": right / decisions}


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    held_out = report["held_out"]
    yield f"held-out accuracy {held_out['accuracy']:.4f} over {held_out['decisions']:,} decisions"
    yield from score_lines(report["evaluation"], report["bot"])
