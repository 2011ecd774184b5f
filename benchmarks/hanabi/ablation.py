"""Clone a rule bot again and again, each time without one segment of the observation: what does a network need to be shown?

What is missing, a small network must work out by itself from the rest. A segment whose loss costs nothing is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.evaluation_result import EvaluationResult, paired_difference
from ludory.algorithms.bc import BC
from ludory.benchmarks.harness.benchmark import Result, benchmark
from ludory.benchmarks.harness.options import Count, Natural
from ludory.benchmarks.harness.parts import check_setting
from ludory.envs.make import make_game
from ludory.errors import OptionError

from .score import figures
from .stream import SETTINGS, trained_seconds

NOTHING = "nothing"
"""Without this: the whole observation."""


@dataclass(frozen=True, slots=True)
class HanabiAblationOptions:
    """Options of `ludory bench hanabi-ablation`."""

    game: str = "Hanabi2P-v0"
    """Id of a Hanabi."""
    bot: str = "hanabi/smartbot"
    """Deterministic rule bot to clone."""
    observation: str = "conventions"
    """The whole observation."""
    without: tuple[str, ...] = (
        NOTHING,
        "own_slots",
        "other_slots",
        "playable_cards worthless_cards",
        "believed",
        "believed_slots",
        "own_view",
        "hints",
        "believed believed_slots own_view hints",
    )
    """Segments to hide, one set after the other; names within a set are separated by spaces."""
    policy: str = "mlp(hidden=(256,256))"
    """The network."""
    decisions: Count = 3_000_000
    """That each clone learns from."""
    seed: Natural = 1
    """Of games and trainings."""
    games: Count = 2000
    """Of the evaluation."""
    decks: Natural = 7_000_051
    """Seed of the evaluation's decks."""
    out: Path = Path("runs/hanabi-ablation")
    """Folder for clones and result."""


@benchmark("hanabi-ablation", resumes=True)
def run(options: HanabiAblationOptions) -> Result:
    """Clone and score without each set of segments.

    Raises:
        OptionError: a segment that the observation lacks, or a network that none can be hidden from.
    """
    game = make_game(options.game, observation=options.observation)
    known = [segment.name for segment in game.facts.observation.segments]
    for hidden in options.without:
        if unknown := [name for name in _segments(hidden) if name not in known]:
            raise OptionError(
                f"--without {hidden!r}: {unknown[0]!r} is no segment of {options.observation}; they are {', '.join(known)}"
            )
    told = {
        "bot": options.bot,
        "policy": options.policy,
        "decisions": options.decisions,
        "seed": options.seed,
        "settings": SETTINGS,
    }
    check_setting(options.out / "setting.json", {"game": options.game, "observation": options.observation, **told})
    bot = _played(options, options.bot)
    report = {
        "game": options.game,
        "observation": options.observation,
        **told,
        "evaluation": {
            "games": options.games,
            "decks_seed": options.decks,
            "convention": "a bomb scores 0; greedy moves; one agent in all seats",
        },
        "bot_score": figures(bot),
        "rows": [_row(options, hidden, bot) for hidden in options.without],
    }
    return Result(options.out / f"hanabi-ablation-{options.observation}.json", report, _shown)


def _segments(hidden: str) -> list[str]:
    return [] if hidden == NOTHING else hidden.split()


def _played(options: HanabiAblationOptions, agent: Any) -> EvaluationResult:
    return evaluate([agent], options.game, games=options.games, seed=options.decks, observation=options.observation)


def _row(options: HanabiAblationOptions, hidden: str, bot: EvaluationResult) -> dict[str, Any]:
    """The figures of one clone."""
    file = options.out / f"without-{hidden.replace(' ', '-')}.ludory"
    if file.exists():
        model = BC.load(file)
    else:
        game = make_game(options.game, observation=options.observation)
        more: dict[str, Any] = {"stream": options.bot, "stream_decisions": options.decisions, "num_epochs": 1}
        model = BC(options.policy, game, seed=options.seed, **more, **SETTINGS)
    hide(model, _segments(hidden))
    spent = trained_seconds(model, file)
    found = _played(options, model.as_agent())
    behind = paired_difference(found, bot)
    return {
        "without": hidden,
        "cpu_seconds": round(spent, 1),
        "score": figures(found),
        "ahead": {"mean": float(behind.mean), "stderr": float(behind.stderr)},
    }


def hide(model: BC, names: list[str]) -> None:
    """Keep the weights of segments at 0, so that the network does not see them.

    Raises:
        OptionError: the network has no first layer over the bits of the observation.
    """
    encoder = getattr(model.policy, "encoder", None)
    if not isinstance(encoder, torch.nn.Linear):
        raise OptionError(
            "--policy: must have a first layer over the bits of the observation; try 'mlp(hidden=(256,256))'"
        )
    weight = encoder.weight
    seen = np.ones(weight.shape[1], bool)
    for segment in model.game.facts.observation.segments:
        if segment.name in names:
            seen[segment.start : segment.start + segment.length] = False
    shown = weight.new_tensor(seen)
    weight.data *= shown
    weight.register_hook(lambda gradient: gradient * shown)


def _shown(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['bot']}: {report['bot_score']['mean']:.2f}; clones from {report['decisions']:,} decisions, {report['policy']}"
    for row in report["rows"]:
        score, ahead = row["score"], row["ahead"]
        yield (
            f"without {row['without']:44} {score['mean']:6.2f} ± {score['stderr']:.2f}  bomb {score['bomb']:.1%}  "
            f"{ahead['mean']:+.2f} ± {ahead['stderr']:.2f} to the bot"
        )
