"""Compares a Hanabi agent with a bot on the same decks, and trains offline models to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate
from ludory.agents.evaluation.evaluation_result import EvaluationResult, paired_difference
from ludory.algorithms.offline.algorithm import OfflineAlgorithm
from ludory.algorithms.running.interrupt import raise_interrupt
from ludory.algorithms.running.train_to_file import train_to_file


def score_beside(agent: Agent, rival: str, game: str, games: int, decks: int, **options: Any) -> dict[str, Any]:
    """Figures of both agents in all seats, and the lead of the first, paired by game.

    Args:
        agent: to be scored.
        rival: name of the bot.
        game: id of the game.
        games: number of games.
        decks: seed of the decks.
        **options: of the game, such as the observation that the agent takes.
    """
    ours, its = (evaluate([one], game, games=games, seed=decks, **options) for one in (agent, rival))
    ahead = paired_difference(ours, its)
    return {
        "games": games,
        "decks_seed": decks,
        "convention": "a bomb scores 0; greedy moves; one agent in all seats",
        "agent": figures(ours),
        rival: figures(its),
        "ahead": {"mean": float(ahead.mean), "stderr": float(ahead.stderr)},
    }


def score_lines(score: dict[str, Any], rival: str) -> Iterator[str]:
    """Three lines for the terminal."""
    for name in ("agent", rival):
        one = score[name]
        yield (
            f"{name:12} {one['mean']:6.2f} +- {one['stderr']:.2f}  stacks {one['stacks']:.2f}  "
            f"bomb {one['bomb']:.1%}  perfect {one['perfect']:.1%}  ({score['games']} games)"
        )
    yield f"ahead        {score['ahead']['mean']:+6.2f} +- {score['ahead']['stderr']:.2f}  on the same decks"


def figures(result: EvaluationResult) -> dict[str, float]:
    """Mean score, its standard error, mean of the stacks, shares of bombs and of perfect games."""
    found = result.estimates()
    figures = {"mean": float(result.mean), "stderr": float(result.stderr), "stacks": found["stacks"].mean}
    for end in ("bomb", "perfect"):
        share = found.get(f"end = {end}")
        figures[end] = share.mean if share else 0.0
    return figures


def train_planned(model: OfflineAlgorithm, file: Path) -> None:
    """Train a model on its whole data set, with a checkpoint in `file`, unless it is trained already.

    Raises:
        KeyboardInterrupt: after a stop by Ctrl+C or SIGTERM; the checkpoint is written.
    """
    timesteps = model.planned_timesteps  # reads the games, and refuses others than it began with
    if not model.finished and (received := train_to_file(model, timesteps, file, progress_bar=True)):
        raise_interrupt(received)
