"""The first layers of a network: from an observation as it is stored to features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from ludory.envs.game import ObservationSpec

from .packed_linear import PackedLinear


def flat_encoder(observation: ObservationSpec, width: int) -> nn.Linear:
    """A linear layer over bits (..., bytes) or floats (..., size) that gives (..., width)."""
    return (PackedLinear if observation.bits else nn.Linear)(observation.size, width)


def dense_encoder(observation: ObservationSpec, hidden: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    """Linear layers of widths `hidden` with an activation behind each; orthogonal weights with gain sqrt(2), zero biases."""
    layers = [flat_encoder(observation, hidden[0]), *(nn.Linear(size, width) for size, width in pairwise(hidden))]
    for layer in layers:
        nn.init.orthogonal_(layer.weight, 2**0.5)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*(module for layer in layers for module in (layer, activation())))
