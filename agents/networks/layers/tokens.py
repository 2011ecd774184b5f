"""From an observation to tokens (..., tokens, width), for attention networks."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from ludory.envs.facts import ObservationSpec
from ludory.errors import OptionError

from .packed_linear import unpack

SCALE = 0.1
"""Standard deviation of initial weights: small compared with a layer's output, so that the first layers matter."""


def token_encoder(observation: ObservationSpec, width: int) -> SegmentTokens | IdTokens:
    """`IdTokens` for integers that are not bits (uint8), else `SegmentTokens`."""
    ids = observation.dtype == "uint8" and not observation.bits
    return IdTokens(observation, width) if ids else SegmentTokens(observation, width)


class SegmentTokens(nn.Module):
    """One token per named segment of a flat observation: its entries through a separate linear layer.

    The bias of that layer tells the network which segment it reads. Entries between segments make tokens of their own, so every entry
    is read; overlapping segments are cut where they overlap.
    """

    def __init__(self, observation: ObservationSpec, width: int) -> None:
        super().__init__()
        self.bits, self.size = observation.bits, observation.size
        self.lengths = segment_lengths(observation)
        self.weight = nn.Parameter(torch.randn(width, self.size) * SCALE)  # columns of all segments side by side
        self.bias = nn.Parameter(torch.randn(len(self.lengths), width) * SCALE)

    def forward(self, observation: Tensor) -> Tensor:
        """(..., tokens, width) from bits (..., bytes) or floats (..., size)."""
        entries = (unpack(observation, self.size) if self.bits else observation).to(self.weight.dtype)
        pairs = zip(entries.split(self.lengths, -1), self.weight.split(self.lengths, 1), strict=True)
        return torch.stack([nn.functional.linear(part, weight) for part, weight in pairs], -2) + self.bias


class IdTokens(nn.Module):
    """One token per entry of an integer observation: the embedding of its value plus that of its position."""

    def __init__(self, observation: ObservationSpec, width: int) -> None:
        super().__init__()
        self.low = int(observation.low)
        if observation.low != self.low or observation.high < self.low:
            raise OptionError(
                f"observation {observation.name!r} goes from {observation.low} to {observation.high}: token ids are whole numbers"
            )
        self.embedding = nn.Embedding(int(observation.high) - self.low + 1, width)
        nn.init.normal_(self.embedding.weight, std=SCALE)
        self.position = nn.Parameter(torch.randn(observation.size, width) * SCALE)

    def forward(self, observation: Tensor) -> Tensor:
        """(..., size, width) from numbers (..., size) of any dtype."""
        tokens: Tensor = self.embedding(observation.long() - self.low)
        return tokens + self.position


def segment_lengths(observation: ObservationSpec) -> list[int]:
    """Lengths of the stretches that the borders of the named segments cut the observation into."""
    borders = {0, observation.size}
    for segment in observation.segments:
        if segment.length:
            borders |= {segment.start, segment.start + segment.length}
    return [stop - start for start, stop in pairwise(sorted(borders))]
