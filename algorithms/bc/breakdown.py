"""Decisions of Pokémon battles by kind, and what the strongest move would be, read from the observations."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludory.envs.game import ObservationSpec

MENU, PLAIN, COLUMNS = 4, 10, 22
"""Moves of the menu, actions without a gimmick, numbers of a move."""
POWER = 13
"""Column of a move: base power x accuracy x same type x effectiveness."""
PREVIEW, FORCED = 50, 51
"""Entries of `field`: team preview, forced switch."""
ACTIONS = ("moves", "switches", "gimmicks")
KINDS = ("free", "forced_switch", "pivot", "preview", "single")


class Breakdown(NamedTuple):
    """Where an observation holds what tells decisions apart; None where it does not."""

    moves: int | None
    field: int | None
    pokemon: int | None

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return ACTIONS if self.field is None else ACTIONS + KINDS

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that decisions are compared with."""
        return () if self.moves is None else ("max_power",)

    def members(self, observations: Tensor, masks: Tensor, actions: Tensor) -> Tensor:
        """(m, G) bool: the groups of decisions with observations (m, size), legal masks (m, A) and actions (m,).

        A decision is of one kind: `single` if one action is legal, else preview, pivot (a switch of a Pokémon that stands), forced switch, free.
        """
        parts = [actions < MENU, (actions >= MENU) & (actions < PLAIN), actions >= PLAIN]
        if self.field is None or self.pokemon is None:
            return torch.stack(parts, -1)
        single = masks.sum(-1) == 1
        preview = observations[:, self.field + PREVIEW] > 0
        forced = observations[:, self.field + FORCED] > 0
        own = observations[:, self.pokemon : self.pokemon + 6 * 40].unflatten(-1, (6, 40))
        stands = ((own[..., 2] > 0) & (own[..., 4] > 0)).any(-1)
        left = ~single
        for one in (preview, forced & stands, forced):
            parts.append(left & one)
            left = left & ~one
        previewed, pivots, switches = parts[3:]
        return torch.stack([*parts[:3], left, switches, pivots, previewed, single], -1)

    def choices(self, observations: Tensor, masks: Tensor) -> Tensor:
        """(m,): the legal move of greatest power, the first on ties; the first legal action where no move is legal."""
        assert self.moves is not None
        entries = observations[:, self.moves : self.moves + MENU * COLUMNS].unflatten(-1, (MENU, COLUMNS))
        power = entries[..., POWER].masked_fill(~masks[:, :MENU], -1)
        return torch.where(masks[:, :MENU].any(-1), power.argmax(-1), masks.int().argmax(-1))


def breakdown_of(spec: ObservationSpec, actions: int) -> Breakdown | None:
    """The breakdown of a Pokémon battle's observation; None for other games."""
    starts = {segment.name: segment.start for segment in spec.segments}
    known = all(name in starts for name in ("pokemon", "volatile", "moves", "field"))
    if actions < PLAIN or not (known or spec.name == "seed41"):
        return None
    return Breakdown(starts.get("moves"), starts.get("field"), starts.get("pokemon"))
