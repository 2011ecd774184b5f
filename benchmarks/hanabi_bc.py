"""`ludory bench hanabi-bc`: record games of a rule bot, clone it, and set the clone beside the bot on the same decks.

The bot is deterministic, so that 1 is the best accuracy there is. Games, checkpoints and result lie in one folder; the command goes
on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from ludory.agents.evaluate import evaluate
from ludory.agents.evaluation_result import paired_difference
from ludory.algorithms.bc import BC
from ludory.algorithms.bc.batches import ask, read_batches
from ludory.algorithms.run import train_to_file
from ludory.atomic import atomic_file
from ludory.data.record import record
from ludory.data.trajectories import TrajectoryDataset

from .machine import origin

POLICY = "gru(hidden=(512,), memory_size=128)"
SETTINGS: dict[str, Any] = {
    "num_epochs": 12,
    "batch_size": 1024,
    "learning_rate": 2e-3,
    "final_learning_rate": 1e-4,
    "label_smoothing": 0.0,
    "value_coef": 0.01,
    "augment": True,
}


BATCH = 8192


def run(argv: list[str]) -> int:
    """Record, train, evaluate, write; gives the exit code."""
    arguments = _parser().parse_args(argv)
    started_from, folder = origin(), Path(arguments.out)
    games = folder / "games"
    record(arguments.bot, arguments.game, arguments.games, games, seed=arguments.seed)
    model = _trained(arguments, folder, games)
    report = {
        "benchmark": "hanabi-bc",
        "game": arguments.game,
        "seed": arguments.seed,
        "bot": arguments.bot,
        "games": arguments.games,
        "policy": POLICY,
        "settings": SETTINGS,
        "held_out": _held_out(model, games),
        "evaluation": _score(arguments, model),
        **started_from,
    }
    target = folder / f"hanabi-bc-{arguments.game}-seed{arguments.seed}.json"
    with atomic_file(target, "w") as handle:
        json.dump(report, handle, indent=2)
        handle.write("\n")
    _print(report)
    print(f"clone in {folder / 'clone.ludory'}, result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench hanabi-bc", description=__doc__)
    parser.add_argument("--game", default="Hanabi2P-v0", help="id of a Hanabi (default Hanabi2P-v0)")
    parser.add_argument("--bot", default="hanabi/iggi", help="deterministic agent to clone (default hanabi/iggi)")
    parser.add_argument("--games", type=int, default=20_000, help="to record (default 20,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the games and of the training (default 1)")
    parser.add_argument("--eval-games", type=int, default=2000, help="of the evaluation (default 2000)")
    parser.add_argument(
        "--decks", type=int, default=1_000_003, help="seed of the evaluation's decks, unlike the recording's"
    )
    parser.add_argument("--out", default="runs/hanabi-bc", help="folder for games, clone and result")
    return parser


def _trained(arguments: argparse.Namespace, folder: Path, games: Path) -> BC:
    file = folder / "clone.ludory"
    if file.exists():
        model = BC.load(file)
    else:
        model = BC(POLICY, arguments.game, dataset=str(games), seed=arguments.seed, **SETTINGS)
    if not model.finished:
        train_to_file(model, model.planned_timesteps, file, progress_bar=True)
    return model


def _held_out(model: BC, games: Path) -> dict[str, float]:
    """Share of the bot's decisions in test games that the clone makes too, and how many there were."""
    right = decisions = 0
    with torch.no_grad():
        for batch in read_batches(TrajectoryDataset(games, "test"), BATCH, whole_games=model.policy.recurrent):
            said = ask(model.policy, batch)
            found = model.policy.distribution(said.logits, said.masks).mode()
            right += int((found == said.actions).all(-1).sum())
            decisions += len(said.actions)
    return {"decisions": decisions, "accuracy": right / decisions}


def _score(arguments: argparse.Namespace, model: BC) -> dict[str, Any]:
    clone, bot = (
        evaluate([one], arguments.game, games=arguments.eval_games, seed=arguments.decks)
        for one in (model.as_agent(), arguments.bot)
    )
    ahead = paired_difference(clone, bot)
    return {
        "games": arguments.eval_games,
        "decks_seed": arguments.decks,
        "convention": "a bomb scores 0; greedy moves; one agent in all seats",
        "clone": {"mean": float(clone.mean), "stderr": float(clone.stderr)},
        arguments.bot: {"mean": float(bot.mean), "stderr": float(bot.stderr)},
        "ahead": {"mean": float(ahead.mean), "stderr": float(ahead.stderr)},
    }


def _print(report: dict[str, Any]) -> None:
    held_out, evaluation = report["held_out"], report["evaluation"]
    print(f"held-out accuracy {held_out['accuracy']:.4f} over {held_out['decisions']:,} decisions")
    for name in ("clone", report["bot"]):
        print(f"{name:12} {evaluation[name]['mean']:6.2f} +- {evaluation[name]['stderr']:.2f}")
    print(f"ahead        {evaluation['ahead']['mean']:+6.2f} +- {evaluation['ahead']['stderr']:.2f}  on the same decks")
