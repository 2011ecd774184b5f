"""What a run of distilling reports: figures of its data after each epoch, and scores of the network beside its blueprint at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ludory.agents import Agent, MaskedHeads
from ludory.agents.evaluation.evaluate import evaluate, paired_difference
from ludory.agents.evaluation.evaluation_result import EvaluationResult
from ludory.envs.game import Game

from .loss import Targets, Terms, overrides

FIGURES = (
    "loss",
    "nll",
    "value_loss",
    "entropy",
    "q_error",
    "blueprint_kl",
    "accuracy",
    "override_accuracy",
    "kept_accuracy",
    "agreement",
    "overrides",
    "return",
    "squared_return",
)
"""`accuracy` is how often the most probable move is the recorded one: of all decisions, of those in which the search left the blueprint's
move, and of those in which it kept it. `agreement` is how often it is the blueprint's; `overrides` how often the search left that."""
EVALUATION_SEED = 987_654_321
"""Seed of the evaluation's decks, unless the recording has the same."""


def no_sums() -> Tensor:
    """[2, figures] of no decision."""
    return torch.zeros(2, len(FIGURES), dtype=torch.float64)


def figures(policy: MaskedHeads, values: Tensor, targets: Targets, terms: Terms) -> Tensor:
    """[2, figures] float64 on the CPU: weighted sums, and sums of the weights."""
    weights, changed, known = targets.weights, overrides(targets), targets.blueprint.isfinite()
    best = policy.mode().squeeze(-1)
    right = (best == targets.actions).float()
    value_error, value_weights = terms.value
    parts = (
        (terms.total.expand(len(weights)), weights),
        (terms.policy[0], weights),
        (value_error, value_weights),
        (terms.entropy[0], weights),
        terms.q,
        terms.kl,
        (right, weights),
        (right, weights * changed),
        (right, weights * (known & ~changed)),
        ((best == targets.blueprint).float(), weights * known),
        (changed.float(), weights * known),
        (targets.returns, value_weights),
        (targets.returns**2, value_weights),
    )
    sums = [torch.stack([torch.where(w > 0, rows, 0.0).double() @ w.double(), w.double().sum()]) for rows, w in parts]
    return torch.stack(sums, -1).detach().cpu()


def means(prefix: str, sums: Tensor) -> dict[str, float]:
    """Figures by name, without those of no decision; `explained_variance` stands for those of the returns."""
    found = {name: float(total / weight) for name, total, weight in zip(FIGURES, *sums.tolist(), strict=True) if weight}
    average, squares = found.pop("return", 0.0), found.pop("squared_return", 0.0)
    variance = squares - average**2
    if variance > 1e-12:
        found["explained_variance"] = 1 - found["value_loss"] / variance
    return {prefix + name: value for name, value in found.items()}


def beside(agent: Agent, rival: str | Agent | None, game: Game, games: int, recorded: int | None) -> dict[str, float]:
    """Scores of an agent in all seats, and of a rival, on the same new decks.

    Args:
        agent: the agent.
        rival: another agent to compare with; None: nobody.
        game: the game.
        games: number of decks.
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
    """The scores as text."""
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
