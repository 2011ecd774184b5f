"""A transformer over the parts of an observation, with logits and value from a learned summary token."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludory.agents.networks.layers.tokens import SCALE, token_encoder
from ludory.agents.networks.policy import Policy, PolicyOutput, output_layers
from ludory.envs.facts import GameFacts
from ludory.errors import OptionError


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
