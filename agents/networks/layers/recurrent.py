"""`RecurrentPolicy`: base of policies with a gated recurrent unit (arXiv 1406.1078)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludory.agents.networks.policy import Policy, PolicyOutput, output_layers
from ludory.envs.game import GameFacts
from ludory.errors import OptionError


class RecurrentPolicy(Policy):
    """Features, a GRU whose state is the memory, then logits and value. Subclasses implement `features`.

    Args:
        facts: of the game.
        num_features: width of the output of `features`.
        memory_size: width of the GRU.
    """

    def __init__(self, facts: GameFacts, num_features: int, memory_size: int) -> None:
        super().__init__(facts)
        if memory_size < 1:
            raise OptionError(f"memory_size={memory_size}: must be at least 1")
        self.memory_size = memory_size
        self.gru = GruStep(num_features, memory_size)
        self.logits, self.value = output_layers(memory_size, facts)

    def features(self, observation: Tensor, seat: Tensor | None, previous: Tensor | None = None) -> Tensor:
        """(..., num_features) from observations (..., bytes) or (..., size), seats (...) and last moves (..., P)."""
        raise NotImplementedError

    def initial_memory(self, rows: int) -> Tensor:
        """Zeros (rows, memory_size)."""
        return torch.zeros(rows, self.memory_size, device=self.value.weight.device)

    def forward(
        self,
        observation: Tensor,
        memory: Tensor | None = None,
        seat: Tensor | None = None,
        previous: Tensor | None = None,
    ) -> PolicyOutput:
        """See `Policy.forward`; `previous` (m, P) last moves, the own one first, for networks with `uses_previous`."""
        memory = self.initial_memory(len(observation)) if memory is None else memory
        after = self.gru(self.gru.inputs(self.features(observation, seat, previous)), memory)
        return self._outputs(after, after)

    def unroll(
        self,
        observations: Tensor,
        memory: Tensor | None,
        starts: Tensor,
        seats: Tensor | None = None,
        previous: Tensor | None = None,
    ) -> PolicyOutput:
        """See `Policy.unroll`; `previous` [T, B, P] as in `forward`."""
        memory = self.initial_memory(starts.shape[1]) if memory is None else memory
        hidden = self.gru.scan(self.features(observations, seats, previous), memory, starts)
        return self._outputs(hidden, hidden[-1])

    def _outputs(self, hidden: Tensor, memory: Tensor) -> PolicyOutput:
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1), memory)


class GruStep(nn.GRUCell):
    """A GRU cell whose input part can be computed for a whole sequence at once."""

    def inputs(self, x: Tensor) -> Tensor:
        """Input gates (..., 3 * size) of inputs (..., input)."""
        return nn.functional.linear(x, self.weight_ih, self.bias_ih)

    def forward(self, inputs: Tensor, memory: Tensor) -> Tensor:  # type: ignore[override]  # gates instead of inputs
        """Memory (m, size) after a step; float32 under autocast, so that small updates are not rounded away."""
        memory = memory.to(self.weight_hh.dtype)
        gates = nn.functional.linear(memory, self.weight_hh, self.bias_hh)
        reset_in, update_in, new_in = inputs.chunk(3, -1)
        reset_memory, update_memory, new_memory = gates.chunk(3, -1)
        reset, update = (reset_in + reset_memory).sigmoid(), (update_in + update_memory).sigmoid()
        new = (new_in + reset * new_memory).tanh()
        return new + update * (memory - new)

    def scan(self, x: Tensor, memory: Tensor, starts: Tensor) -> Tensor:
        """Memory [T, B, size] after each step of inputs [T, B, input]; reset before the steps where `starts` [T, B] is true."""
        out, kept = [], (~starts).unsqueeze(-1).to(memory.dtype)
        if x.device.type == "cpu" and not torch.is_autocast_enabled("cpu"):
            # One operation for a step: threads that share a batch hold the interpreter's lock between operations.
            weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
            for now, keep in zip(x.unbind(), kept.unbind(), strict=True):
                memory = torch.gru_cell(now, memory * keep, *weights)
                out.append(memory)
        else:
            for now, keep in zip(self.inputs(x), kept, strict=True):
                memory = self(now, memory * keep)
                out.append(memory)
        return torch.stack(out)
