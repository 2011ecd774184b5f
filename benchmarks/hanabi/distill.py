"""Compare a weak bot, its clone, a search over the bot, and the clone after it has learnt what the search found.

All networks play without search and on the same decks, a bomb scores 0. `sequences` learns from whole games with memory, `seed` as
HIKARU's trainer does (single decisions, memory zero, nothing of Q). A second round searches over `sequences` itself and distils again.
Games, checkpoints and result lie in one folder; the command goes on where an earlier one stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.evaluation_result import paired_difference
from ludory.agents.evaluation.record import record
from ludory.agents.make import make_agent
from ludory.algorithms.bc import BC
from ludory.algorithms.distill import Distill
from ludory.algorithms.offline.algorithm import OfflineAlgorithm
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural, TwoOrMore
from ludory.envs.make import make_game
from ludory.errors import DataError

from .score import figures, train_planned

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


@dataclass(frozen=True, slots=True)
class HanabiDistillOptions:
    """Options of `ludory bench hanabi-distill`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    bot: str = "hanabi/iggi"
    """The first blueprint."""
    clone_games: Count = 60_000
    """Games of the bot to clone."""
    clone_epochs: Count = 6
    """Epochs of cloning."""
    games: Count = 6000
    """Games of the search."""
    rollouts: Count = 500
    """Of a decision of the search."""
    epochs: Count = 6
    """Of distilling."""
    second_games: Natural = 0
    """Games of the search in a second round; below 2,000 it shows nothing; 0: no second round."""
    second_rollouts: Count = 50
    """Of a decision there."""
    eval_games: TwoOrMore = 5000
    """Games of the evaluation."""
    seed: Natural = 1
    """Of games and training."""
    decks: Natural = 3_000_017
    """Seed of the evaluation's decks, unlike the recordings' and unlike those that settings were chosen on (1000003)."""
    out: Path = Path("runs/hanabi-distill")
    """Folder for games, networks and result."""


@benchmark("hanabi-distill")
def run(options: HanabiDistillOptions) -> Result:
    """Record, train, evaluate."""
    folder, game = options.out, options.game
    search = f"sparta({options.bot}, rollouts={options.rollouts})"
    make_agent(search, make_game(game))  # a wrong name shows before hours of training
    own: dict[str, Any] = {"seed": options.seed}
    bot_games, searched, second_searched = (folder / name for name in ("games", "searched", "second-searched"))

    record(options.bot, game, options.clone_games, bot_games, seed=options.seed)
    clone = BC(POLICY, game, dataset=str(bot_games), num_epochs=options.clone_epochs, **CLONE, **own)
    players: dict[str, Agent | str] = {options.bot: options.bot, "clone": _trained(clone, folder / "clone.ludory")}

    record(search, game, options.games, searched, seed=options.seed + 1)
    first = {"dataset": str(searched), "init_from": str(folder / "clone.ludory"), "num_epochs": options.epochs}
    for name, more in (("sequences", {}), ("seed", SEED)):
        model = Distill("auto", game, **{**DISTIL, **first, **own, **more})
        players[name] = _trained(model, folder / f"{name}.ludory")

    file = str(folder / "sequences.ludory")
    second_search = f"sparta({file}, rollouts={options.second_rollouts})"
    if options.second_games:
        record(second_search, game, options.second_games, second_searched, seed=options.seed + 2)
        second = {"dataset": str(second_searched), "init_from": file, "num_epochs": options.epochs}
        model = Distill("auto", game, **{**DISTIL, **second, **own, **SECOND})
        players["second round"] = _trained(model, folder / "second.ludory")

    report = {
        "game": game,
        "seed": options.seed,
        "bot": options.bot,
        "policy": POLICY,
        "clone": {"games": options.clone_games, "epochs": options.clone_epochs, "settings": CLONE},
        "search": {"games": options.games, "rollouts": options.rollouts},
        "distil": {"epochs": options.epochs, "settings": DISTIL, "seed": SEED},
        "second": {"games": options.second_games, "rollouts": options.second_rollouts, "settings": SECOND},
        **_scores(players, options),
    }
    return Result(folder / f"hanabi-distill-seed{options.seed}.json", report, _shown)


def _trained(fresh: OfflineAlgorithm, file: Path) -> Agent:
    """The network in `file`, trained to its end, or `fresh` where the file is missing.

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
    train_planned(model, file)
    return model.as_agent()


def _scores(players: dict[str, Agent | str], options: HanabiDistillOptions) -> dict[str, Any]:
    """Figures of all, and how far networks are ahead of what they came from, deck by deck."""
    played = {
        name: evaluate([one], game=options.game, games=options.eval_games, seed=options.decks)
        for name, one in players.items()
    }
    pairs = [("clone", options.bot), ("sequences", "clone"), ("sequences", options.bot), ("seed", "clone")]
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
            "games": options.eval_games,
            "decks_seed": options.decks,
            "convention": "a bomb scores 0; greedy moves; one agent in all seats; no search",
        },
        "scores": {name: figures(result) for name, result in played.items()},
        "differences": differences,
    }


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    for name, one in report["scores"].items():
        yield f"{name:14} {one['mean']:6.2f} +- {one['stderr']:.2f}  bomb {one['bomb']:.1%}"
    for one in report["differences"]:
        yield f"{one['agent']} - {one['beside']}: {one['ahead']:+.3f} +- {one['stderr']:.3f} on the same decks"
