"""`BattleDecisions`: decisions of Pokémon battles by kind, and what the strongest move would be, read from the observations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs import ObservationSpec

MENU, PLAIN, COLUMNS = 4, 10, 22
"""Moves of the menu, actions without a gimmick, numbers of a move."""
POWER = 13
"""Column of a move: base power x accuracy x same type x effectiveness."""
PREVIEW, FORCED = 50, 51
"""Entries of `field`: team preview, forced switch."""
ACTIONS = ("moves", "switches", "gimmicks")
KINDS = ("free", "forced_switch", "pivot", "preview", "single")


class BattleDecisions(NamedTuple):
    """`Analysis.decision_kinds` of battles: where an observation holds what tells decisions apart; None where it does not."""

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

    def members(
        self, observations: NDArray[np.float32], masks: NDArray[np.bool_], actions: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """(m, G) bool: the groups of decisions with observations (m, size), legal masks (m, A) and actions (m,).

        A decision is of one kind: `single` if one action is legal, else preview, pivot (a switch of a Pokémon that stands), forced switch, free.
        """
        parts = [actions < MENU, (actions >= MENU) & (actions < PLAIN), actions >= PLAIN]
        if self.field is None or self.pokemon is None:
            return np.stack(parts, -1)
        single = masks.sum(-1) == 1
        preview = observations[:, self.field + PREVIEW] > 0
        forced = observations[:, self.field + FORCED] > 0
        own = observations[:, self.pokemon : self.pokemon + 6 * 40].reshape(-1, 6, 40)
        stands = ((own[..., 2] > 0) & (own[..., 4] > 0)).any(-1)
        left = ~single
        for one in (preview, forced & stands, forced):
            parts.append(left & one)
            left = left & ~one
        previewed, pivots, switches = parts[3:]
        return np.stack([*parts[:3], left, switches, pivots, previewed, single], -1)

    def choices(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(m,): the legal move of greatest power, the first on ties; the first legal action where no move is legal."""
        assert self.moves is not None
        entries = observations[:, self.moves : self.moves + MENU * COLUMNS].reshape(-1, MENU, COLUMNS)
        power = np.where(masks[:, :MENU], entries[..., POWER], -1)
        chosen: NDArray[np.int64] = np.where(masks[:, :MENU].any(-1), power.argmax(-1), masks.argmax(-1))
        return chosen


def battle_decisions(spec: ObservationSpec) -> BattleDecisions:
    """Kinds of decisions as far as an observation of battles tells them apart."""
    starts = {segment.name: segment.start for segment in spec.segments}
    return BattleDecisions(starts.get("moves"), starts.get("field"), starts.get("pokemon"))
