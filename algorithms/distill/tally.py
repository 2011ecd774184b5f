"""Weighted sums over decisions, and the figures that are reported."""

from __future__ import annotations

import torch
from torch import Tensor

from ludory.agents.networks.layers.distribution import MaskedHeads

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
"""`accuracy` is how often the most probable move is the recorded one, of all decisions, of those in which the search left the blueprint
and of those in which it kept it; `agreement` how often it is the blueprint's; `overrides` how often the search left it."""


def no_sums() -> Tensor:
    """Of no decision."""
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
    """Figures by name, those of which there was something; the returns' as `explained_variance`."""
    found = {name: float(total / weight) for name, total, weight in zip(FIGURES, *sums.tolist(), strict=True) if weight}
    average, squares = found.pop("return", 0.0), found.pop("squared_return", 0.0)
    variance = squares - average**2
    if variance > 1e-12:
        found["explained_variance"] = 1 - found["value_loss"] / variance
    return {prefix + name: value for name, value in found.items()}
