"""A transformer over the parts of an observation as tokens, with logits and value from a learned summary token."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from ludory.agents.networks.policy import Policy, PolicyOutput, output_layers
from ludory.envs.facts import GameFacts, ObservationSpec
from ludory.errors import OptionError

from ..layers.packed_linear import unpack

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


class TransformerPolicy(Policy):
    """Pre-norm attention layers (arXiv 1706.03762, 2002.04745) over tokens and a summary token; the last layer is computed for the summary only.

    A flat observation yields one token per named segment, an integer observation one per entry; see `tokens`.

    Args:
        facts: of the game.
        width: of a token; a multiple of `num_heads`.
        num_layers: encoder layers.
        num_heads: attention heads per layer.
        feedforward: width of the hidden layer behind the attention; None: 4 * width.
        dropout: share of activations dropped while training.
    """

    id = "transformer"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        num_layers: int = 2,
        num_heads: int = 4,
        feedforward: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(facts)
        _check(width, num_layers, num_heads, feedforward, dropout)
        self.encoder = token_encoder(facts.observation, width)
        self.summary = nn.Parameter(torch.randn(width) * SCALE)
        layers = (AttentionLayer(width, num_heads, feedforward or 4 * width, dropout) for _ in range(num_layers))
        self.torso, self.norm = nn.ModuleList(layers), nn.LayerNorm(width)
        self.logits, self.value = output_layers(width, facts)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Logits and values of m rows; there is no memory."""
        tokens = self.encoder(observation)  # (m, tokens, width)
        summary = self.summary.to(tokens.dtype).expand(len(tokens), 1, -1)
        hidden = torch.cat([summary, tokens], 1)
        for layer in self.torso[:-1]:
            hidden = layer(hidden)
        hidden = self.norm(self.torso[-1](hidden, 1)).squeeze(1)
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1), None)


class AttentionLayer(nn.Module):
    """`x += attention(norm(x))`, then `x += feedforward(norm(x))`."""

    def __init__(self, width: int, num_heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm, self.feedforward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, num_heads, dropout, batch_first=True)
        self.feedforward = nn.Sequential(
            nn.Linear(width, feedforward), nn.GELU(), nn.Dropout(dropout), nn.Linear(feedforward, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, first: int | None = None) -> Tensor:
        """(m, first, width) from tokens (m, tokens, width): the `first` tokens look at all and go on; None: all of them."""
        seen = self.attention_norm(x)
        change, _ = self.attention(seen[:, :first], seen, seen, need_weights=False)
        x = x[:, :first] + self.dropout(change)
        after: Tensor = x + self.dropout(self.feedforward(self.feedforward_norm(x)))
        return after


def _check(width: int, num_layers: int, num_heads: int, feedforward: int | None, dropout: float) -> None:
    if num_heads < 1 or width < 1 or width % num_heads:
        raise OptionError(
            f"width={width}, num_heads={num_heads}: width must be a multiple of num_heads, at least 1 each"
        )
    if num_layers < 1 or (feedforward is not None and feedforward < 1) or not 0 <= dropout < 1:
        raise OptionError(
            f"num_layers={num_layers}, feedforward={feedforward}, dropout={dropout}: layers and widths are at least 1, dropout is in [0, 1)"
        )


def check_encoder(
    width: int, num_layers: int, num_heads: int, feedforward: int, dropout: float, least_width: int = 1
) -> None:
    """Check the sizes of a transformer encoder.

    Raises:
        OptionError: width is less than `least_width` or no multiple of num_heads, a size is less than 1, or dropout is not in [0, 1).
    """
    sound = width >= least_width and min(num_layers, num_heads, feedforward) >= 1 and 0 <= dropout < 1
    if not sound or width % num_heads:
        least = f" and at least {least_width}" if least_width > 1 else ""
        raise OptionError(
            f"width={width}, num_layers={num_layers}, num_heads={num_heads}, feedforward={feedforward}, dropout={dropout}: width is "
            f"a multiple of num_heads{least}, layers and widths are at least 1, dropout is in [0, 1)"
        )
