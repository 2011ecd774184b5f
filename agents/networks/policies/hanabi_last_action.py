"""The id of the last move, read off a Hanabi observation (see `envs/hanabi/observation.py` for its layout)."""

from __future__ import annotations

import torch
from torch import Tensor

from ludory.agents.networks.layers.packed_linear import unpack
from ludory.envs.game import GameFacts
from ludory.errors import OptionError

SEGMENTS = ("last_actor", "last_type", "last_target", "last_color", "last_rank", "last_touched", "last_slot")
"""One-hots that lie side by side; `last_type` is play, discard, hint colour, hint rank."""


class LastAction:
    """Reads the last move off observations. Ids of hints count seats from the one that gave the hint.

    Args:
        facts: of the game.

    Raises:
        OptionError: the observation does not tell the last move as Hanabi's do.
    """

    def __init__(self, facts: GameFacts) -> None:
        found = {segment.name: segment for segment in facts.segments if segment.name in SEGMENTS}
        missing = [name for name in SEGMENTS if name not in found]
        if missing:
            raise OptionError(
                f"{facts.name} with observation {facts.observation.name!r} has no {', '.join(missing)}; "
                "this network reads the last move, as Hanabi's observations tell it: card_knowledge, minimal, seer or v0_belief"
            )
        self.bits, self.none = facts.observation.bits, facts.num_actions
        self.start, self.stop = found["last_actor"].start, found["last_slot"].start + found["last_slot"].length
        self.lengths = [found[name].length for name in SEGMENTS]
        self.players, self.colors, self.ranks, self.hand = (self.lengths[k] for k in (0, 3, 4, 6))

    def __call__(self, observation: Tensor) -> Tensor:
        """(...) int64 from bits (..., bytes) or floats (..., size); the number of actions if there was no move yet."""
        actor, kind, target, color, rank, _, slot = self._read(observation).split(self.lengths, -1)
        ahead = (target.argmax(-1) - actor.argmax(-1) - 1) % self.players  # 0: the seat after the actor
        hint_color = 2 * self.hand + ahead * self.colors + color.argmax(-1)
        hint_rank = 2 * self.hand + (self.players - 1) * self.colors + ahead * self.ranks + rank.argmax(-1)
        slot = slot.argmax(-1)
        ids = torch.stack([self.hand + slot, slot, hint_color, hint_rank], -1)
        chosen = ids.gather(-1, kind.argmax(-1, keepdim=True)).squeeze(-1)
        return torch.where((kind > 0).any(-1), chosen, self.none)

    def _read(self, observation: Tensor) -> Tensor:
        """The entries from `last_actor` to `last_slot`; of bits only the bytes that hold them are expanded."""
        if not self.bits:
            return observation[..., self.start : self.stop]
        first, last = self.start // 8, -(-self.stop // 8)
        return unpack(observation[..., first:last], (last - first) * 8)[
            ..., self.start - first * 8 : self.stop - first * 8
        ]
