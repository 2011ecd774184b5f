"""`EntityPolicy`: one encoder for all twelve Pokémon, pooled by side, and scores by pointer."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from ludory.envs import GameFacts
from ludory.errors import OptionError

from .pointer import Encoded, PointerPolicy
from .rows import ACTIVE, CODE, EXISTS, MENU, SLOTS, WIDTHS, BattleRow

MOVE_CODE = WIDTHS["moves"] + 22


class EntityPolicy(PointerPolicy):
    """Codes of Pokémon and moves; the position is made of both actives, the mean and maximum of each bench and menu, and the field.

    Args:
        facts: of a battle of Pokémon with `observation="entity"`.
        width: of a Pokémon's code.
        move_width: of a move's code.
        trunk_width: of the position's code.
        memory: None or "gru".
    """

    id: ClassVar[str] = "pokemon/entity"

    def __init__(
        self,
        facts: GameFacts,
        width: int = 128,
        move_width: int = 64,
        trunk_width: int = 256,
        memory: str | None = None,
    ) -> None:
        if min(width, move_width, trunk_width) < 1:
            raise OptionError(f"width={width}, move_width={move_width}, trunk_width={trunk_width}: must be at least 1")
        super().__init__(facts, trunk_width, move_width, width, 128, memory)
        self.pokemon = nn.Sequential(
            nn.Linear(CODE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.LayerNorm(width)
        )
        self.moves = nn.Sequential(nn.Linear(MOVE_CODE, move_width), nn.ReLU())
        self.field = nn.Sequential(nn.Linear(2 * 26 + 72, 64), nn.ReLU())
        self.trunk = nn.Sequential(
            nn.Linear(6 * width + 4 * move_width + 64, trunk_width),
            nn.ReLU(),
            nn.Linear(trunk_width, trunk_width),
            nn.ReLU(),
        )
        self.initialise()

    def encode(self, row: BattleRow) -> Encoded:
        """Codes of m rows."""
        codes = self.pokemon(self.ids.pokemon(row)).unflatten(1, (2, SLOTS))  # (m, 2, 6, width)
        moves = self.moves(self.ids.moves(row)).unflatten(1, (2, MENU))  # (m, 2, 4, move width)
        parts = [
            _actives_and_benches(codes, row.pokemon).flatten(1),
            moves.mean(2).flatten(1),
            moves.amax(2).flatten(1),
            self.field(torch.cat([row.volatile, row.field], -1)),
        ]
        return Encoded(self.trunk(torch.cat(parts, -1)), moves[:, 0], codes[:, 0])


def _actives_and_benches(codes: Tensor, pokemon: Tensor) -> Tensor:
    """(m, 2, 3 * width): of both sides the active's code and the mean and maximum of the others; 0 where there is none."""
    active = pokemon[..., ACTIVE].unflatten(1, (2, SLOTS))
    bench = pokemon[..., EXISTS].unflatten(1, (2, SLOTS)) * (1 - active)
    weights = torch.stack([active, bench / bench.sum(-1, keepdim=True).clamp(min=1)], 2)  # (m, 2, 2, 6)
    active_and_mean = (weights @ codes).flatten(2)
    absent = (bench == 0).unsqueeze(-1)
    most = codes.masked_fill(absent, -1e4).amax(2).masked_fill(absent.all(2), 0)
    return torch.cat([active_and_mean, most], -1)
