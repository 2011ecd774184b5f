"""What a run of distilling shows: a table after each epoch, and the network beside its blueprint at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.table import Table

from ludory.agents.agent import Agent
from ludory.agents.evaluation.evaluate import evaluate, paired_difference
from ludory.agents.evaluation.evaluation_result import EvaluationResult
from ludory.envs.game import Game

COLUMNS = {
    "loss": "loss",
    "nll": "nll",
    "accuracy": "accuracy",
    "override_accuracy": "overrides",
    "kept_accuracy": "kept",
    "agreement": "blueprint",
    "explained_variance": "expl. var",
}
"""Metric -> title."""
EVALUATION_SEED = 987_654_321
"""Of the decks of an evaluation, unless a recording has it."""


def epoch_table(epoch: int, num_epochs: int, metrics: Mapping[str, float]) -> Table:
    """Figures of training and validation."""
    title = f"epoch {epoch} of {num_epochs}, {metrics['time/fps']:,.0f} samples/s"
    table = Table(title=title, title_justify="left")
    for column in ("", *COLUMNS.values()):
        table.add_column(column, justify="right" if column else "left")
    for name, prefix in (("train", "train/"), ("validation", "val/")):
        cells = [metrics.get(prefix + column) for column in COLUMNS]
        if any(cell is not None for cell in cells):
            table.add_row(name, *("" if cell is None else f"{cell:.4f}" for cell in cells))
    return table


def beside(agent: Agent, rival: str | Agent | None, game: Game, games: int, recorded: int | None) -> dict[str, float]:
    """Scores of one agent in all seats, and of another one, on the same new decks; greedy play.

    Args:
        agent: to be judged.
        rival: to set beside it, if there is one.
        game: what is played.
        games: how many.
        recorded: seed of the decks that were learnt from.
    """
    seed = EVALUATION_SEED + (recorded == EVALUATION_SEED)
    result = evaluate([agent], game, games=games, seed=seed)
    found = _figures("eval/", result)
    if rival is not None:
        other = evaluate([rival], game, games=games, seed=seed)
        ahead = paired_difference(result, other)
        found |= _figures("eval/blueprint_", other)
        found |= {"eval/ahead": float(np.mean(ahead.mean)), "eval/ahead_stderr": float(np.mean(ahead.stderr))}
    return found


def _figures(prefix: str, result: EvaluationResult) -> dict[str, float]:
    found: dict[str, Any] = {"return": float(np.mean(result.mean)), "return_stderr": float(np.mean(result.stderr))}
    estimates = result.estimates()
    for name, title in (("stacks", "stacks"), ("end = bomb", "bomb_rate"), ("end = perfect", "perfect_rate")):
        if "stacks" in estimates:
            found[title] = estimates[name].mean if name in estimates else 0.0
    return {prefix + name: value for name, value in found.items()}


def told(found: Mapping[str, float], rival: str | None, games: int) -> str:
    """Some lines for people."""
    lines = [_line("distilled", "eval/", found)]
    if rival is not None:
        lines += [_line(rival, "eval/blueprint_", found)]
        lines += [
            f"ahead      {found['eval/ahead']:+.3f} +- {found['eval/ahead_stderr']:.3f} on the same {games:,} new decks"
        ]
    return "\n".join(lines)


def _line(name: str, prefix: str, found: Mapping[str, float]) -> str:
    more = "".join(
        f"  {title} {found[prefix + figure]:{form}}"
        for figure, title, form in (
            ("stacks", "stacks", ".2f"),
            ("bomb_rate", "bombs", ".1%"),
            ("perfect_rate", "perfect", ".1%"),
        )
        if prefix + figure in found
    )
    return f"{name:10} {found[prefix + 'return']:.3f} +- {found[prefix + 'return_stderr']:.3f}{more}"
