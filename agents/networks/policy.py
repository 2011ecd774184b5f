"""`Policy`: what learners and agents need of a network, for single decisions and for whole sequences with memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludory.agents.networks.fast.sampling import sample_heads
from ludory.agents.networks.layers.distribution import DiagonalGaussian, MaskedHeads
from ludory.envs.facts import GameFacts, ObservationSpec
from ludory.errors import CheckpointError


class PolicyOutput(NamedTuple):
    """Logits (..., A) of all heads, concatenated, values (...), and the memory after the step (None without recurrence)."""

    logits: Tensor
    values: Tensor
    memory: Tensor | None


class Policy(nn.Module):
    """A network with logits and a value. Subclasses implement `forward`; with memory also `initial_memory` and `unroll`.

    0/1 observations are passed as bits, uint8 (..., ceil(size / 8)), others as floats (..., size). A policy is identified by its id and
    the keyword arguments of its class, so that a checkpoint can rebuild it.

    Args:
        facts: of the game.
    """

    id: ClassVar[str]
    trained_by: ClassVar[str | None] = None
    """Id of the only algorithm that trains it; None: any that learns from a game's observations."""
    uses_seat: ClassVar[bool] = False
    """True if `forward` needs the seat."""
    uses_previous = False
    """True if `forward` and `unroll` take the last move of every seat as their last argument; for games with one head."""

    def __init__(self, facts: GameFacts) -> None:
        super().__init__()
        self.observation: ObservationSpec = facts.observation
        self.head_sizes, self.players, self.box = facts.head_sizes, facts.players, facts.box
        if facts.box is not None:
            self.log_std = nn.Parameter(torch.zeros(len(facts.box.low)))

    @property
    def recurrent(self) -> bool:
        """Whether the policy has a memory."""
        return self.initial_memory(1) is not None

    def initial_memory(self, rows: int) -> Tensor | None:
        """Memory (rows, size) float32 at the start of a game; None without recurrence."""
        return None

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """One decision for m rows.

        Args:
            observation: (m, bytes) or (m, size).
            memory: (m, size) after the same seat's previous decision; None: first decision.
            seat: (m,) int64 seats that decide; only for networks with `uses_seat`.
        """
        raise NotImplementedError

    def unroll(
        self, observations: Tensor, memory: Tensor | None, starts: Tensor, seats: Tensor | None = None
    ) -> PolicyOutput:
        """Sequences of decisions, with gradients through time: logits [T, B, A], values [T, B], memory after the last step.

        Args:
            observations: [T, B, bytes] or [T, B, size].
            memory: (B, size) before the first decision; None: zero.
            starts: [T, B] bool, first decision of a game: the memory is reset before it.
            seats: [T, B] int64; only for networks with `uses_seat`.
        """
        flat = self(observations.flatten(0, 1), None, None if seats is None else seats.flatten())
        return PolicyOutput(flat.logits.unflatten(0, starts.shape), flat.values.unflatten(0, starts.shape), None)

    # Any, since a learner knows which of the two its game has.
    def distribution(self, logits: Tensor, mask: Tensor) -> Any:
        """`MaskedHeads` under a legal mask (..., A) bool; for continuous actions a `DiagonalGaussian` with means `logits`."""
        if self.box is not None:
            return DiagonalGaussian(logits, self.log_std)
        return MaskedHeads(logits, mask, self.head_sizes)

    def draw(self, logits: Tensor, mask: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Actions (m, H) int64 or (m, D) float32 and the log-probability of each entry, without gradients."""
        if self.box is None:
            return sample_heads(logits, mask, self.head_sizes, generator)
        distribution = DiagonalGaussian(logits.detach(), self.log_std.detach())
        actions = distribution.sample(generator)
        return actions, distribution.log_prob(actions)

    def playable(self, actions: Tensor) -> Tensor:
        """`actions` for the game: continuous ones are clipped to their bounds. Learners use the unclipped ones."""
        if self.box is None:
            return actions
        low, high = (torch.tensor(end, device=actions.device) for end in self.box)
        return actions.clamp(low, high)


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Name of the first tensor with NaN or infinity; None if all entries are finite."""
    if not tensors or bool(torch.stack([tensor.isfinite().all() for tensor in tensors.values()]).all()):
        return None
    return next(name for name, tensor in tensors.items() if not bool(tensor.isfinite().all()))


def refuse_not_finite(source: object, weights: Mapping[str, Tensor]) -> None:
    """Check that all weights are finite.

    Raises:
        CheckpointError: naming `source` and the tensor.
    """
    if name := not_finite(weights):
        raise CheckpointError(
            f"{source}: {name!r} holds NaN or infinity, so whoever wrote it had diverged; take an earlier checkpoint"
        )


def from_seat(moves: Tensor, seats: Tensor) -> Tensor:
    """`moves` (m, P) by seat, reordered for `seats` (m,): the own one first, then that of seat + 1, ..."""
    players = moves.shape[-1]
    ahead = torch.arange(players, device=moves.device)
    return moves.gather(-1, (seats.unsqueeze(-1).long() + ahead) % players)


def numpy_to_bits(observation: NDArray[Any], spec: ObservationSpec) -> Tensor:
    """The input of `Policy.forward`, from observations `(m, *shape)` of views."""
    flat = np.asarray(observation).reshape(len(observation), -1)
    if spec.bits:
        return torch.from_numpy(np.packbits(flat.astype(bool), axis=1))
    return torch.from_numpy(np.ascontiguousarray(flat, np.float32))


class OutputLinear(nn.Linear):
    """`nn.Linear` that computes in float32 under autocast, too: values of thousands and ratios of probabilities need its digits."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., out_features) from (..., in_features)."""
        if not torch.is_autocast_enabled(input.device.type):
            return super().forward(input)
        with torch.autocast(input.device.type, enabled=False):
            return super().forward(input.to(self.weight.dtype))


def output_layers(width: int, facts: GameFacts) -> tuple[nn.Linear, nn.Linear]:
    """Linear layers from features (..., width) to logits (..., A) and to the value (..., 1).

    Orthogonal weights with gain 0.01 for logits, so that play starts nearly uniform, and 1 for the value; zero biases.
    """
    logits, value = OutputLinear(width, facts.num_outputs), OutputLinear(width, 1)
    for layer, gain in ((logits, 0.01), (value, 1.0)):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return logits, value
