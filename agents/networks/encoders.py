"""The first layer of a network: from an observation as it is stored to features."""

from __future__ import annotations

from torch import nn

from ludory.envs.game import ObservationSpec

from .packed_linear import PackedLinear


def flat_encoder(observation: ObservationSpec, width: int) -> nn.Linear:
    """A linear layer over bits (..., bytes) or floats (..., size) that gives (..., width)."""
    return (PackedLinear if observation.bits else nn.Linear)(observation.size, width)
