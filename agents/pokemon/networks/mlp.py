"""Two plain baselines: `FlatMlpPolicy` over `flat`, and `SeedMlpPolicy` over the 41 numbers of `seed41`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from ludory.agents import Policy, PolicyOutput, ResidualBlock, output_layers
from ludory.envs import GameFacts
from ludory.envs.pokemon.vocab import vocabulary
from ludory.errors import OptionError

from .rows import ENTITY_SIZE, FLAT_SIZE, SEED41_SIZE, cut, flat_of_row, need_observation

SPECIES = (1, 22)
"""Entries of `seed41` with the ids of both active species."""
SEED_SCALE = (0.01, 0.0, 1.0, 0.125, *[1.0] * 6, *[0.125] * 6, *[1.0] * 6, 0.0, *[1.0] * 7, 0.125, 0.25, *[1.0] * 9)
"""Factor of each entry of `seed41`; the species are embedded instead."""


class FlatMlpPolicy(Policy):
    """Hidden layers over `flat`, which is computed from `entity` where the game shows that; then logits and value.

    Args:
        facts: of a battle of Pokémon with `observation="entity"` or "flat".
        hidden: width of each hidden layer.
    """

    id: ClassVar[str] = "pokemon/mlp"

    def __init__(self, facts: GameFacts, hidden: Sequence[int] = (256, 256, 256)) -> None:
        super().__init__(facts)
        need_observation(facts, self.id, ENTITY_SIZE, FLAT_SIZE)
        if not hidden or min(hidden) < 1:
            raise OptionError(f"hidden={hidden!r}: must be widths of at least 1")
        self.torso = _layers((FLAT_SIZE, *hidden))
        self.logits, self.value = output_layers(hidden[-1], facts)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Logits and values of m rows; there is no memory."""
        flat = flat_of_row(cut(observation)) if observation.shape[-1] == ENTITY_SIZE else observation
        hidden = self.torso(flat)
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1).tanh(), None)


class SeedMlpPolicy(Policy):
    """Embedded species, an encoder of three layers, three residual blocks; dropout is off until a learner calls `train()`.

    Args:
        facts: of a battle of Pokémon with `observation="seed41"`.
        width: of every layer.
        dropout: share of activations dropped behind each layer of the encoder.
    """

    id: ClassVar[str] = "pokemon/seed-mlp"
    scale: Tensor

    def __init__(self, facts: GameFacts, width: int = 256, dropout: float = 0.1) -> None:
        super().__init__(facts)
        need_observation(facts, self.id, SEED41_SIZE)
        if width < 1 or not 0 <= dropout < 1:
            raise OptionError(f"width={width}, dropout={dropout}: width is at least 1, dropout is in [0, 1)")
        self.species = nn.Embedding(max(vocabulary("species").values()) + 1, 32)
        self.register_buffer("scale", torch.tensor(SEED_SCALE), persistent=False)
        self.encoder = _layers((SEED41_SIZE + 2 * 32, width, width, width), dropout)
        self.torso = nn.Sequential(*(ResidualBlock(width, nn.ReLU(), 3**-0.5) for _ in range(3)), nn.LayerNorm(width))
        self.logits, self.value = output_layers(width, facts)
        self.eval()

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Logits and values of m rows; there is no memory."""
        ids = observation[:, SPECIES].int().clamp(0, self.species.num_embeddings - 1)
        entries = torch.cat([observation * self.scale, self.species(ids).flatten(1)], -1)
        hidden = self.torso(self.encoder(entries))
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1).tanh(), None)


def _layers(widths: Sequence[int], dropout: float = 0.0) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size, width in pairwise(widths):
        linear = nn.Linear(size, width)
        nn.init.orthogonal_(linear.weight, 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU(), *([nn.Dropout(dropout)] if dropout else [])]
    return nn.Sequential(*layers)
