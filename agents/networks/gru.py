"""A recurrent policy: encoder, gated recurrent unit (arXiv 1406.1078), logits and value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from ludory.envs.game import GameFacts

from .encoders import flat_encoder
from .mlp import ACTIVATIONS, check_layers
from .policy import Policy, PolicyOutput


class GruPolicy(Policy):
    """Hidden layers, a GRU whose state is the memory, then logits and value.

    Args:
        facts: of the game.
        hidden: width of each layer in front of the GRU.
        memory_size: width of the GRU.
        activation: "relu" or "tanh", of the layers in front.
    """

    id = "gru"

    def __init__(
        self, facts: GameFacts, hidden: Sequence[int] = (256,), memory_size: int = 256, activation: str = "relu"
    ) -> None:
        super().__init__(facts)
        check_layers(hidden, activation)
        self.encoder = nn.Sequential(flat_encoder(facts.observation, hidden[0]), ACTIVATIONS[activation]())
        for size, width in pairwise(hidden):
            self.encoder.extend([nn.Linear(size, width), ACTIVATIONS[activation]()])
        self.memory_size = memory_size
        self.gru = GruStep(hidden[-1], memory_size)
        self.logits, self.value = nn.Linear(memory_size, sum(facts.head_sizes)), nn.Linear(memory_size, 1)
        for module in self.encoder:
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
                nn.init.zeros_(module.bias)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        nn.init.orthogonal_(self.value.weight, 1.0)

    def initial_memory(self, rows: int) -> Tensor:
        """Zeros (rows, memory_size)."""
        return torch.zeros(rows, self.memory_size, device=self.value.weight.device)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """See `Policy.forward`."""
        memory = self.initial_memory(len(observation)) if memory is None else memory
        after = self.gru(self.gru.inputs(self.encoder(observation)), memory)
        return self._heads(after, after)

    def unroll(
        self, observations: Tensor, memory: Tensor | None, starts: Tensor, seats: Tensor | None = None
    ) -> PolicyOutput:
        """See `Policy.unroll`."""
        memory = self.initial_memory(starts.shape[1]) if memory is None else memory
        hidden = self.gru.scan(self.gru.inputs(self.encoder(observations)), memory, starts)
        return self._heads(hidden, hidden[-1])

    def _heads(self, hidden: Tensor, memory: Tensor) -> PolicyOutput:
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1), memory)


class GruStep(nn.GRUCell):
    """A GRU cell whose input part can be computed for a whole sequence at once."""

    def inputs(self, x: Tensor) -> Tensor:
        """Input gates (..., 3 * size) of inputs (..., input)."""
        return nn.functional.linear(x, self.weight_ih, self.bias_ih)

    def forward(self, inputs: Tensor, memory: Tensor) -> Tensor:  # type: ignore[override]  # gates instead of inputs
        """Memory (m, size) after a step."""
        gates = nn.functional.linear(memory, self.weight_hh, self.bias_hh)
        reset_in, update_in, new_in = inputs.chunk(3, -1)
        reset_memory, update_memory, new_memory = gates.chunk(3, -1)
        reset, update = (reset_in + reset_memory).sigmoid(), (update_in + update_memory).sigmoid()
        new = (new_in + reset * new_memory).tanh()
        return new + update * (memory - new)

    def scan(self, inputs: Tensor, memory: Tensor, starts: Tensor) -> Tensor:
        """Memories [T, B, size] after each step; reset before the steps where `starts` [T, B] is true."""
        memory, out = memory.to(inputs.dtype), []
        for now, start in zip(inputs, starts, strict=True):
            memory = self(now, memory.masked_fill(start.unsqueeze(-1), 0))
            out.append(memory)
        return torch.stack(out)
