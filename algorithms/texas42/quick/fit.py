"""Fit the quick policy to examples: cross-entropy of the tile played, and of the declaration; then round to whole numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ludory.agents.texas42.bidding.hand_cues import CUES, features_of
from ludory.agents.texas42.play.fast_policy import SCALE, QuickPolicyWeights
from ludory.agents.texas42.play.tile_features import FEATURES
from ludory.atomic import atomic_file
from ludory.envs.texas42.tiles import STRAIGHT

from .examples import MOST, Examples

BATCH, RATE, HELD_OUT = 256, 8e-3, 10
"""One deal in `HELD_OUT` is not learnt from."""


class Fit(NamedTuple):
    """What was fitted, and how well it tells what deals that were held out have in them."""

    weights: QuickPolicyWeights
    loss: float
    """Cross-entropy of a decision with a choice, in nats."""
    uniform_loss: float
    """Of taking any of the tiles."""
    accuracy: float
    declaration_loss: float
    declaration_accuracy: float


class TileNetwork(nn.Module):
    """Logits of the tiles of a decision, each from its own features."""

    def __init__(self, units: int, scale: Tensor) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(FEATURES, units), nn.Linear(units, 1, bias=False)
        self.scale = scale

    def forward(self, features: Tensor, number: Tensor) -> Tensor:
        """(n, MOST), -inf behind the number of tiles."""
        logits: Tensor = self.output(torch.relu(self.hidden(features.float() / self.scale))).squeeze(-1)
        return logits.masked_fill(torch.arange(MOST) >= number[:, None], -torch.inf)

    def weights(self, trumps: Tensor) -> QuickPolicyWeights:
        """In whole numbers, for features as they are."""
        parts = self.hidden.weight / self.scale, self.hidden.bias, self.output.weight[0], trumps
        return QuickPolicyWeights(*((part.detach().numpy() * SCALE).round().astype(np.int32) for part in parts))


def fit(examples: Examples, units: int = 32, epochs: int = 12, seed: int = 0) -> Fit:
    """Fit on all but the deals held out; the same for the same seed on one machine."""
    torch.manual_seed(seed)
    features, number = torch.from_numpy(examples.features), torch.from_numpy(examples.number).long()
    chosen, held_out = torch.from_numpy(examples.chosen).long(), examples.deal % HELD_OUT == HELD_OUT - 1
    scale = features.flatten(0, 1).abs().amax(0).clamp(min=1).float()
    network, learnt = TileNetwork(units, scale), np.flatnonzero(~held_out)
    steps = epochs * (len(learnt) // BATCH)
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps + 1)
    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        order = torch.from_numpy(generator.permutation(learnt))
        for rows in order[: len(order) // BATCH * BATCH].split(BATCH):
            loss = cross_entropy(network(features[rows], number[rows]), chosen[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        logits, truth = network(features[held_out], number[held_out]), chosen[held_out]
    trumps, *of_declarations = _fit_declarations(examples.hand, examples.decl)
    return Fit(
        network.weights(trumps),
        float(cross_entropy(logits, truth)),
        float(number[held_out].float().log().mean()),
        float((logits.argmax(1) == truth).float().mean()),
        *of_declarations,
    )


def _fit_declarations(hands: NDArray[np.int32], decls: NDArray[np.int8]) -> tuple[Tensor, float, float]:
    """A weight for each cue; loss and accuracy on hands held out."""
    cues = torch.tensor(np.array([features_of(int(hand)) for hand in hands])).float()  # (h, 9, CUES)
    declared = torch.tensor([STRAIGHT.index(int(decl)) for decl in decls])
    held_out = torch.arange(len(hands)) % HELD_OUT == HELD_OUT - 1
    weights = torch.zeros(CUES, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=0.05)
    for _ in range(400):
        loss = cross_entropy(cues[~held_out] @ weights, declared[~held_out]) + 1e-4 * (weights**2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        scores = cues[held_out] @ weights
    accuracy = (scores.argmax(1) == declared[held_out]).float().mean()
    return weights, float(cross_entropy(scores, declared[held_out])), float(accuracy)


def write_weights(file: Path, weights: QuickPolicyWeights) -> None:
    """Write a file as `quick.read_weights` reads it."""
    with atomic_file(file, "w") as handle:
        json.dump({name: part.tolist() for name, part in weights._asdict().items()}, handle, separators=(",", ":"))
        handle.write("\n")
