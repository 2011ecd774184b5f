"""What a learner needs of a network, and policies by name so that a checkpoint can rebuild one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ludory.envs.game import GameFacts, ObservationSpec
from ludory.errors import OptionError

from .distribution import MaskedHeads


class PolicyOutput(NamedTuple):
    """Logits (m, A) of all heads one after another, values (m,), memory after the step (None without recurrence)."""

    logits: Tensor
    values: Tensor
    memory: Tensor | None


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """Name and arguments of a policy, and the shapes it was built for: all that is needed to build it again."""

    id: str
    arguments: Mapping[str, Any]
    head_sizes: tuple[int, ...]


class Policy(nn.Module):
    """A network with logits and a value. Subclasses write `forward`.

    Observations are what the game's spec says: 0/1 observations come as bits, uint8 (m, ceil(size / 8)), others as floats (m, size).
    """

    def __init__(self, observation: ObservationSpec, head_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.observation, self.head_sizes = observation, head_sizes

    def initial_memory(self, rows: int) -> Tensor | None:
        """Memory (rows, ...) at the start of a game; None for a policy without recurrence."""
        return None

    def forward(self, observation: Tensor, memory: Tensor | None = None) -> PolicyOutput:
        """One decision for m rows."""
        raise NotImplementedError

    def distribution(self, logits: Tensor, mask: Tensor) -> MaskedHeads:
        """Distribution over actions under a legal mask (m, A) bool."""
        return MaskedHeads(logits, mask, self.head_sizes)


def build_policy(name: str, facts: GameFacts, arguments: Mapping[str, Any]) -> Policy:
    """Policy `name` for a game.

    Raises:
        OptionError: unknown name or arguments.
    """
    from .mlp import MlpPolicy

    policies: dict[str, type[Policy]] = {"mlp": MlpPolicy}
    if name not in policies:
        raise OptionError(f"policy {name!r}: must be one of {', '.join(map(repr, policies))}")
    try:
        return policies[name](facts.observation, facts.head_sizes, **arguments)
    except TypeError as error:
        raise OptionError(f"policy {name!r} with {dict(arguments)}: {error}") from error


def numpy_to_bits(observation: Any, spec: ObservationSpec) -> Tensor:
    """What `Policy.forward` takes, from observations (m, *shape) as views give them."""
    import numpy as np

    flat = np.asarray(observation).reshape(len(observation), -1)
    if spec.bits:
        return torch.from_numpy(np.packbits(flat.astype(bool), axis=1))
    return torch.from_numpy(np.ascontiguousarray(flat, np.float32))
