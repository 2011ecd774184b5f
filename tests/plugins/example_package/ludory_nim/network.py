"""A network for Nim: one layer looks at every heap, so that it does not matter which heap is which."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.envs import GameFacts


class HeapNetwork(Policy):
    """Features of each heap beside their sum, then logits for the heap; the value is read off the sum.

    Args:
        facts: of Nim.
        heaps: how many it has.
        width: of the features.
    """

    id = "nim-heaps-v1"

    def __init__(self, facts: GameFacts, heaps: int = 3, width: int = 32) -> None:
        super().__init__(facts)
        self.heaps, self.largest = heaps, facts.observation.size // heaps
        self.look = nn.Sequential(nn.Linear(self.largest, width), nn.ReLU())
        self.take, self.value = nn.Linear(2 * width, self.largest), nn.Linear(width, 1)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Observations are bits, eight to a byte."""
        bits = (observation.unsqueeze(-1) >> torch.arange(7, -1, -1)) & 1
        every = bits.flatten(-2)[..., : self.heaps * self.largest].float().unflatten(-1, (self.heaps, self.largest))
        heaps = self.look(every)  # (..., heaps, width)
        total = heaps.sum(-2)
        logits = self.take(torch.cat([heaps, total.unsqueeze(-2).expand_as(heaps)], -1))
        return PolicyOutput(logits.flatten(-2), self.value(total).squeeze(-1), None)
