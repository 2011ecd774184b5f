"""`ludory bench hanabi-distill`: a weak bot, its clone, a search over the bot, and the clone after it has learnt what the search found.

All networks play without search and on the same decks, a bomb scores 0. `sequences` learns from whole games with memory, `seed` as
HIKARU's trainer does (single decisions, memory zero, nothing of Q). A second round searches over `sequences` itself and distils again.
Games, checkpoints and result lie in one folder; the command goes on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import check_count, evaluate
from ludory.agents.evaluation.evaluation_result import paired_difference
from ludory.agents.evaluation.record import record
from ludory.agents.make import make_agent
from ludory.algorithms.bc import BC
from ludory.algorithms.distill import Distill
from ludory.algorithms.offline.algorithm import OfflineAlgorithm
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file
from ludory.benchmarks.harness.machine import origin
from ludory.benchmarks.harness.result_file import write_result
from ludory.envs.make import make_game
from ludory.errors import DataError

from .score import figures

POLICY = "gru(hidden=(256,), memory_size=64)"
CLONE: dict[str, Any] = {
    "batch_size": 1024,
    "learning_rate": 2e-3,
    "final_learning_rate": 1e-4,
    "label_smoothing": 0.0,
    "value_coef": 0.01,
}
DISTIL: dict[str, Any] = {
    "learning_rate": 1e-3,
    "final_learning_rate": 3e-5,
    "lambda_move": 0.0,
    "lambda_value": 0.01,
    "augment": True,
    "eval_games": 0,
}
SECOND: dict[str, Any] = {"learning_rate": 3e-4}
"""Where the second round differs."""
SEED: dict[str, Any] = {"mode": "seed", "lambda_move": 1.0, "augment": False, "split_ratio": (1.0, 0.0, 0.0)}
"""Where learning as HIKARU's trainer differs; the step sizes and epochs are those of `DISTIL`."""


LEAST = {
    "clone_games": 1,
    "clone_epochs": 1,
    "games": 1,
    "rollouts": 1,
    "epochs": 1,
    "second_games": 0,
    "second_rollouts": 1,
    "eval_games": 2,
    "seed": 0,
    "decks": 0,
}
"""By option, what it has to be at least."""


def run(argv: list[str]) -> int:
    """Record, train, evaluate, write; returns the exit code."""
    arguments = _parser().parse_args(argv)
    for name, least in LEAST.items():
        check_count(f"--{name.replace('_', '-')}", getattr(arguments, name), least)
    started_from, folder, game = origin(), Path(arguments.out), arguments.game
    search = f"sparta({arguments.bot}, rollouts={arguments.rollouts})"
    make_agent(search, make_game(game))  # a wrong name shows before hours of training
    own = {"seed": arguments.seed}
    bot_games, searched, second_searched = (folder / name for name in ("games", "searched", "second-searched"))

    record(arguments.bot, game, arguments.clone_games, bot_games, seed=arguments.seed)
    clone = BC(POLICY, game, dataset=str(bot_games), num_epochs=arguments.clone_epochs, **CLONE, **own)
    players: dict[str, Agent | str] = {arguments.bot: arguments.bot, "clone": _trained(clone, folder / "clone.ludory")}

    record(search, game, arguments.games, searched, seed=arguments.seed + 1)
    first = {"dataset": str(searched), "init_from": str(folder / "clone.ludory"), "num_epochs": arguments.epochs}
    for name, more in (("sequences", {}), ("seed", SEED)):
        model = Distill("auto", game, **{**DISTIL, **first, **own, **more})
        players[name] = _trained(model, folder / f"{name}.ludory")

    file = str(folder / "sequences.ludory")
    second_search = f"sparta({file}, rollouts={arguments.second_rollouts})"
    if arguments.second_games:
        record(second_search, game, arguments.second_games, second_searched, seed=arguments.seed + 2)
        second = {"dataset": str(second_searched), "init_from": file, "num_epochs": arguments.epochs}
        model = Distill("auto", game, **{**DISTIL, **second, **own, **SECOND})
        players["second round"] = _trained(model, folder / "second.ludory")

    report = {
        "benchmark": "hanabi-distill",
        "game": game,
        "seed": arguments.seed,
        "bot": arguments.bot,
        "policy": POLICY,
        "clone": {"games": arguments.clone_games, "epochs": arguments.clone_epochs, "settings": CLONE},
        "search": {"games": arguments.games, "rollouts": arguments.rollouts},
        "distil": {"epochs": arguments.epochs, "settings": DISTIL, "seed": SEED},
        "second": {"games": arguments.second_games, "rollouts": arguments.second_rollouts, "settings": SECOND},
        **_scores(players, arguments),
        **started_from,
    }
    target = folder / f"hanabi-distill-seed{arguments.seed}.json"
    write_result(target, report)
    _print(report)
    print(f"result in {target}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ludory bench hanabi-distill", description=__doc__)
    parser.add_argument("--game", default="Hanabi2P-v0", help="id of a Hanabi (default Hanabi2P-v0)")
    parser.add_argument("--bot", default="hanabi/iggi", help="the first blueprint (default hanabi/iggi)")
    parser.add_argument("--clone-games", type=int, default=60_000, help="of the bot, to clone (default 60,000)")
    parser.add_argument("--clone-epochs", type=int, default=6, help="(default 6)")
    parser.add_argument("--games", type=int, default=6000, help="of the search (default 6000)")
    parser.add_argument("--rollouts", type=int, default=500, help="of a decision of the search (default 500)")
    parser.add_argument("--epochs", type=int, default=6, help="of distilling (default 6)")
    parser.add_argument(
        "--second-games",
        type=int,
        default=0,
        help="searched in a second round; below 2,000 it shows nothing (default 0: no second round)",
    )
    parser.add_argument("--second-rollouts", type=int, default=50, help="of a decision there (default 50)")
    parser.add_argument("--eval-games", type=int, default=5000, help="of the evaluation (default 5000)")
    parser.add_argument("--seed", type=int, default=1, help="of games and training (default 1)")
    parser.add_argument(
        "--decks",
        type=int,
        default=3_000_017,
        help="seed of the evaluation's decks, unlike the recordings' and unlike those that settings were chosen on (1000003)",
    )
    parser.add_argument("--out", default="runs/hanabi-distill", help="folder for games, networks and result")
    return parser


def _trained(fresh: OfflineAlgorithm, file: Path) -> Agent:
    """The network in `file`, or trained as `fresh` is to be, as far as it was not yet.

    Raises:
        DataError: the network in the file was trained with other settings, or on other games.
    """
    model = type(fresh).load(file, dataset=fresh.config.dataset) if file.exists() else fresh
    before, asked = (
        {name: value for name, value in asdict(one.config).items() if name not in ("dataset", "init_from")}
        for one in (model, fresh)
    )
    changed = [
        f"{name}={before[name]!r}, asked for {name}={asked[name]!r}" for name in asked if before[name] != asked[name]
    ]
    if changed:
        raise DataError(f"{file} was trained with {'; '.join(changed)}; name another folder with --out")
    timesteps = model.planned_timesteps  # reads the games, and refuses others than it began with
    if not model.finished and (received := train_to_file(model, timesteps, file, progress_bar=True)):
        raise_interrupt(received)
    return model.as_agent()


def _scores(players: dict[str, Agent | str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Figures of all, and how far networks are ahead of what they came from, deck by deck."""
    played = {
        name: evaluate([one], game=arguments.game, games=arguments.eval_games, seed=arguments.decks)
        for name, one in players.items()
    }
    pairs = [("clone", arguments.bot), ("sequences", "clone"), ("sequences", arguments.bot), ("seed", "clone")]
    pairs += [("sequences", "seed"), ("second round", "sequences"), ("second round", "clone")]
    differences = []
    for one, other in pairs:
        if one in played and other in played:
            ahead = paired_difference(played[one], played[other])
            differences.append(
                {"agent": one, "beside": other, "ahead": float(ahead.mean), "stderr": float(ahead.stderr)}
            )
    return {
        "evaluation": {
            "games": arguments.eval_games,
            "decks_seed": arguments.decks,
            "convention": "a bomb scores 0; greedy moves; one agent in all seats; no search",
        },
        "scores": {name: figures(result) for name, result in played.items()},
        "differences": differences,
    }


def _print(report: dict[str, Any]) -> None:
    for name, one in report["scores"].items():
        print(f"{name:14} {one['mean']:6.2f} +- {one['stderr']:.2f}  bomb {one['bomb']:.1%}")
    for one in report["differences"]:
        print(f"{one['agent']} - {one['beside']}: {one['ahead']:+.3f} +- {one['stderr']:.3f} on the same decks")
