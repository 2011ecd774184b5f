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

from ludory.agents.evaluation.record import record
from ludory.algorithms.bc import BC
from ludory.algorithms.offline.batches import ask, read_batches
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.checkpoints.checkpoint import read_header
from ludory.data.trajectories import TrajectoryDataset

from .score import print_score, score_beside

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


def run(argv: list[str]) -> int:
    """Record, train, evaluate, write; returns the exit code."""
    arguments = _parser().parse_args(argv)
    started_from, folder = origin(), Path(arguments.out)
    games = folder / "games"
    record(arguments.bot, arguments.game, arguments.games, games, seed=arguments.seed)
    target = folder / f"hanabi-bc-{arguments.game}-seed{arguments.seed}.json"
    before = json.loads(target.read_text()) if target.exists() else {}
    model, extended_from = _trained(arguments, folder, games)
    report = {
        "benchmark": "hanabi-bc",
        "game": arguments.game,
        "seed": arguments.seed,
        "bot": arguments.bot,
        "games": arguments.games,
        "policy": POLICY,
        "settings": SETTINGS,
        "extended_from_epochs": extended_from or before.get("extended_from_epochs"),
        "held_out": _held_out(model, games),
        "evaluation": score_beside(
            model.as_agent(), arguments.bot, arguments.game, arguments.eval_games, arguments.decks
        ),
        **started_from,
    }
    write_result(target, report)
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


def _trained(arguments: argparse.Namespace, folder: Path, games: Path) -> tuple[BC, int | None]:
    """The clone, and the epochs after which an earlier command had ended it, where there was one."""
    file, extended_from = folder / "clone.ludory", None
    if file.exists():
        planned = read_header(file)["config"]["num_epochs"]
        extended_from = planned if planned < SETTINGS["num_epochs"] else None
        model = BC.load(file, dataset=str(games), num_epochs=max(planned, SETTINGS["num_epochs"]))
    else:
        model = BC(POLICY, arguments.game, dataset=str(games), seed=arguments.seed, **SETTINGS)
    if not model.finished and (received := train_to_file(model, model.planned_timesteps, file, progress_bar=True)):
        raise_interrupt(received)
    return model, extended_from


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


def _print(report: dict[str, Any]) -> None:
    held_out = report["held_out"]
    print(f"held-out accuracy {held_out['accuracy']:.4f} over {held_out['decisions']:,} decisions")
    print_score(report["evaluation"], report["bot"])
