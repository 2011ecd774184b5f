"""`TranscriptTransformer`: values of a seat's own tiles of Texas 42, from what the seat has seen."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from ludory.agents import Policy, PolicyOutput, check_encoder
from ludory.envs import GameFacts
from ludory.envs.texas42.observation import FEATURES, HAND_TOKEN, TOKENS
from ludory.envs.texas42.tiles import POINTS, TILES
from ludory.errors import OptionError

SIZES = (7, 7, 2, 3, 4, 2, 10, 3)
"""How many values each feature of a token has."""


class TranscriptTransformer(Policy):
    """An encoder over the tokens of `observation="transcript"`, with learnt positions: the order of the plays counts.

    An embedding for every feature, post-norm transformer layers; logits are read at the tiles in hand, in points still to be won by the
    own side, the value (in parts of 42 points) at the declaration.

    Args:
        facts: of `Texas42Play-v0` with observation="transcript".
        width, num_layers, num_heads, feedforward, dropout: of the encoder.

    Raises:
        OptionError: another observation, or a width that does not fit.
    """

    id: ClassVar[str] = "transcript"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        num_layers: int = 4,
        num_heads: int = 8,
        feedforward: int = 512,
        dropout: float = 0.1,
    ) -> None:
        super().__init__(facts)
        if facts.observation.name != "transcript":
            raise OptionError(
                f"policy 'transcript' reads observation='transcript', {facts.name} has {facts.observation.name!r}; "
                "make Texas42Play-v0 with --option observation=transcript"
            )
        check_encoder(width, num_layers, num_heads, feedforward, dropout)
        tables = [nn.Embedding(size, width) for size in (*SIZES, TOKENS)]
        for table in tables:
            nn.init.normal_(table.weight, std=0.3)  # nine of them are added
        self.embeddings = nn.ModuleList(tables)
        layer = nn.TransformerEncoderLayer(width, num_heads, feedforward, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.tile_value, self.value = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """See `Policy.forward`; logits of tiles that the seat does not hold are 0."""
        ids = observation.long()
        places = torch.arange(TOKENS, device=ids.device)
        there = places < ids[:, :1]  # (n, 36)
        tokens = ids[:, 1:].unflatten(1, (TOKENS, FEATURES))
        parts = [embedding(tokens[..., k]) for k, embedding in enumerate(list(self.embeddings)[:FEATURES])]
        x = torch.stack([*parts, self.embeddings[FEATURES](places).expand_as(parts[0])]).sum(0)
        x = self.encoder(x, src_key_padding_mask=~there)  # (n, 36, width)
        high, low, kind = tokens[..., 0], tokens[..., 1], tokens[..., -1]
        tile = torch.where(there & (kind == HAND_TOKEN), high * (high + 1) // 2 + low, TILES)
        points = POINTS * self.tile_value(x).squeeze(-1)
        logits = points.new_zeros(len(ids), TILES + 1).scatter(1, tile, points)[:, :TILES]
        return PolicyOutput(logits, self.value(x[:, 0]).squeeze(-1), None)
