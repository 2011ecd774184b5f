"""`DominoTransformer`: values of the mover's tiles of Texas 42 with all hands open."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from ludory.agents import check_encoder
from ludory.agents.texas42.play.tokens import SIZES, VERSIONS
from ludory.envs import GameFacts
from ludory.errors import OptionError

from .open_hands import OpenHandNetwork, OpenValues

WIDE = (0, 1, 4, 9, 10)
"""Features with many values, which get twice the embedding width."""


class DominoTransformer(OpenHandNetwork):
    """An encoder over tokens (`agents/texas42/play/tokens.py`) without positions: tiles of a hand may stand in any order.

    An embedding for every feature, a linear layer, post-norm transformer layers; q is read at the mover's seven tiles, the value at the context.

    Args:
        facts: of Texas 42.
        width, num_layers, num_heads, feedforward, dropout: of the encoder.
        tokens: version, 1 or 2.
    """

    id: ClassVar[str] = "domino"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        num_layers: int = 4,
        num_heads: int = 8,
        feedforward: int = 512,
        dropout: float = 0.1,
        tokens: int = 2,
    ) -> None:
        super().__init__(facts)
        if tokens not in VERSIONS:
            raise OptionError(f"tokens={tokens!r}: must be one of {', '.join(map(str, VERSIONS))}")
        check_encoder(width, num_layers, num_heads, feedforward, dropout, least_width=12)
        self.tokens_version = tokens
        widths = [width // 6 if k in WIDE else width // 12 for k in range(len(SIZES))]
        self.embeddings = nn.ModuleList(nn.Embedding(size, part) for size, part in zip(SIZES, widths, strict=True))
        self.project = nn.Linear(sum(widths), width)
        layer = nn.TransformerEncoderLayer(width, num_heads, feedforward, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.q_head, self.value_head = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, tokens: Tensor, mask: Tensor, player: Tensor | None = None) -> OpenValues:  # type: ignore[override]
        """As `OpenHandNetwork.forward`."""
        if self.tokens_version == 1 and player is None:
            raise OptionError("tokens of version 1 need the mover: network(tokens, mask, player)")
        self.check_version(tokens, player)
        ids = tokens.long()
        x = torch.cat([embedding(ids[..., k]) for k, embedding in enumerate(self.embeddings)], -1)
        x = self.encoder(self.project(x), src_key_padding_mask=~mask)  # (n, 32, width)
        scores = self.q_head(x).squeeze(-1)
        if self.tokens_version == 1:
            assert player is not None  # see above
            own = 1 + 7 * player.unsqueeze(1) + torch.arange(7, device=player.device)
            q = scores.gather(1, own)
        else:
            q = scores[:, 1:8]
        return OpenValues(q, self.value_head(x[:, 0]).squeeze(-1))
