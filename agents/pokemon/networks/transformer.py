"""`EntityTransformerPolicy`: attention over Pokémon, moves and the field, and scores by pointer."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn

from ludory.agents import AttentionLayer
from ludory.envs import GameFacts
from ludory.errors import OptionError

from .pointer import Encoded, PointerPolicy
from .rows import ACTIVE, CODE, MENU, MOVES, SLOTS, TEAM, WIDTHS, BattleRow


class EntityTransformerPolicy(PointerPolicy):
    """Pre-norm attention over 12 Pokémon, 8 moves and the field; tokens have a role (side, active or not) and no position.

    Args:
        facts: of a battle of Pokémon with `observation="entity"`.
        width: of a token; a multiple of `num_heads`.
        num_layers: attention layers.
        num_heads: of each layer.
        trunk_width: of the position's code.
        memory: None or "gru".
    """

    id: ClassVar[str] = "pokemon/entity-transformer"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        num_layers: int = 3,
        num_heads: int = 4,
        trunk_width: int = 256,
        memory: str | None = None,
    ) -> None:
        if min(width, num_layers, num_heads, trunk_width) < 1 or width % num_heads:
            raise OptionError(
                f"width={width}, num_layers={num_layers}, num_heads={num_heads}, trunk_width={trunk_width}: must be at least 1, width a multiple "
                "of num_heads"
            )
        super().__init__(facts, trunk_width, width, width, 128, memory)
        self.pokemon, self.moves = nn.Linear(CODE, width), nn.Linear(WIDTHS["moves"] + 22, width)
        self.field = nn.Linear(2 * 26 + 72, width)
        self.roles = nn.Parameter(torch.randn(2, 2, width) * 0.1)  # side, active
        self.sides = nn.Parameter(torch.randn(2, width) * 0.1)  # of moves
        self.torso = nn.ModuleList(AttentionLayer(width, num_heads, 2 * width, 0.0) for _ in range(num_layers))
        self.norm, self.trunk = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, trunk_width), nn.ReLU())
        self.initialise()

    def encode(self, row: BattleRow) -> Encoded:
        """Codes of m rows."""
        active = row.pokemon[..., ACTIVE].unflatten(1, (2, SLOTS)).unsqueeze(-1)  # (m, 2, 6, 1)
        roles = self.roles[:, :1] + active * (self.roles[:, 1:] - self.roles[:, :1])
        pokemon = self.pokemon(self.ids.pokemon(row)) + roles.flatten(1, 2)
        moves = self.moves(self.ids.moves(row)) + self.sides.repeat_interleave(MENU, 0)
        field = self.field(torch.cat([row.volatile, row.field], -1)).unsqueeze(1)
        hidden = torch.cat([pokemon, moves, field], 1)  # (m, 21, width)
        for layer in self.torso:
            hidden = layer(hidden)
        hidden = self.norm(hidden)
        return Encoded(self.trunk(hidden[:, TEAM + MOVES]), hidden[:, TEAM : TEAM + MENU], hidden[:, :SLOTS])
