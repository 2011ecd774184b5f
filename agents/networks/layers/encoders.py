"""The first layers of a network: from a stored observation to features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from ludory.envs.facts import ObservationSpec

from .packed_linear import PackedLinear


class FloatLinear(nn.Linear):
    """`nn.Linear` over (x - shift) * scale; a learner may set the two buffers from observed statistics."""

    shift: Tensor
    scale: Tensor

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features)
        self.register_buffer("shift", torch.zeros(in_features))
        self.register_buffer("scale", torch.ones(in_features))

    def forward(self, x: Tensor) -> Tensor:
        """(..., out_features) from (..., in_features)."""
        return nn.functional.linear((x - self.shift) * self.scale, self.weight, self.bias)

    def plain(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the equivalent `nn.Linear`."""
        weight = self.weight * self.scale
        return weight, self.bias - weight @ self.shift

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        for name in ("shift", "scale"):  # older and imported layers have none
            state_dict.setdefault(prefix + name, getattr(self, name))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def flat_encoder(observation: ObservationSpec, width: int) -> nn.Linear:
    """A linear layer from bits (..., bytes) or floats (..., size) to (..., width)."""
    return (PackedLinear if observation.bits else FloatLinear)(observation.size, width)


def scale_inputs(network: nn.Module, mean: Tensor, deviation: Tensor) -> None:
    """Normalise the input of a network over floats: its first layer sees mean 0 and standard deviation 1."""
    for module in network.modules():
        if isinstance(module, FloatLinear):
            module.shift.copy_(mean)
            module.scale.copy_(1 / deviation)


def dense_encoder(observation: ObservationSpec, hidden: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    """Linear layers of widths `hidden`, each followed by an activation; orthogonal weights with gain sqrt(2), zero biases."""
    layers = [flat_encoder(observation, hidden[0]), *(nn.Linear(size, width) for size, width in pairwise(hidden))]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, 2**0.5)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*(module for layer in layers for module in (layer, activation())))
