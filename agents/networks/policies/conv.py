"""A convolutional network over planes: residual blocks (He et al. 2016, arXiv 1512.03385), logits and value, as in AlphaZero."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.agents.networks.policy import OutputLinear, Policy, PolicyOutput
from ludory.envs.facts import GameFacts
from ludory.errors import OptionError

PLANES = 8
"""Planes that the heads read."""
VALUE_WIDTH = 64
"""Width of the value's hidden layer."""


class ConvPolicy(Policy):
    """Convolutions of 3x3 in residual blocks, then logits from a few planes, and the value from a hidden layer over them.

    Args:
        facts: of a game that shows planes, (planes, rows, columns).
        channels: of every convolution.
        num_blocks: residual blocks, two convolutions each.

    Raises:
        OptionError: the observation is not of three axes, or a size is below 1.
    """

    id = "conv"

    def __init__(self, facts: GameFacts, channels: int = 32, num_blocks: int = 2) -> None:
        super().__init__(facts)
        shape = facts.observation.shape
        if len(shape) != 3:
            raise OptionError(
                f"policy 'conv' reads planes (planes, rows, columns); {facts.name} shows {shape}: take policy='mlp'"
            )
        if min(channels, num_blocks) < 1:
            raise OptionError(f"channels={channels}, num_blocks={num_blocks}: both must be at least 1")
        self.shape = shape
        features = PLANES * shape[1] * shape[2]
        self.encoder = nn.Conv2d(shape[0], channels, 3, padding=1)
        self.torso = nn.Sequential(*(ConvBlock(channels) for _ in range(num_blocks)), nn.Conv2d(channels, PLANES, 1))
        self.hidden = nn.Linear(features, VALUE_WIDTH)
        self.logits, self.value = OutputLinear(features, facts.num_outputs), OutputLinear(VALUE_WIDTH, 1)
        for layer, gain in ((self.logits, 0.01), (self.value, 1.0)):
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Logits and values of m rows; there is no memory."""
        seen = unpack(observation, self.observation.size) if self.observation.bits else observation
        # channels last: a CPU then multiplies matrices of channels, twice as fast
        planes = seen.to(self.encoder.weight.dtype).view(-1, *self.shape).contiguous(memory_format=torch.channels_last)
        features = self.torso(self.encoder(planes).relu()).relu().flatten(1)
        value = self.value(self.hidden(features).relu()).squeeze(-1)
        return PolicyOutput(self.logits(features), value, None)


class ConvBlock(nn.Module):
    """`relu(x + second(relu(first(x))))`, with `second` 0 at the start, so that deep networks begin as shallow ones, without a norm."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        nn.init.zeros_(self.second.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(m, channels, rows, columns) from the same."""
        change: Tensor = self.second(self.first(x).relu_())
        return (x + change).relu_()
