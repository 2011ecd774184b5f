"""A recurrent policy for Hanabi with embeddings of its seat and of last moves; at two seats the network of HIKARU's PPO-GRU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ludory.agents import RecurrentPolicy, dense_encoder
from ludory.agents.networks.layers.packed_linear import unpack
from ludory.envs import GameFacts
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


PREVIOUS = ("seen", "others", "all")


class HanabiGruPolicy(RecurrentPolicy):
    """Hidden layers over the observation, embeddings of seat and last moves; then a GRU, logits and value.

    Action ids count seats from the one that moves; A means "none yet". At two seats the last move is the other seat's, and is part of
    the observation. With more seats the observation shows only the move of the seat before; earlier moves, and the seat's own, are
    passed to the network (`uses_previous`).

    Args:
        facts: of Hanabi, any number of seats, any observation.
        hidden: width of each layer over the observation.
        memory_size: width of the GRU.
        seat_size: width of the embedding of the (absolute) seat.
        action_size: width of the embedding of a last move.
        previous: the last moves it receives: "seen", the one in the observation; "others", that of each other seat, the next
            one first; "all", these and then its own.

    Raises:
        OptionError: the game is not Hanabi, a width is below 1, or `previous` is invalid.
    """

    id = "hanabi_gru"
    uses_seat = True

    def __init__(
        self,
        facts: GameFacts,
        hidden: Sequence[int] = (256,),
        memory_size: int = 256,
        seat_size: int = 8,
        action_size: int = 32,
        previous: str = "seen",
    ) -> None:
        check_sizes(hidden, seat_size, action_size)
        if previous not in PREVIOUS:
            raise OptionError(f"previous={previous!r}: must be one of {', '.join(map(repr, PREVIOUS))}")
        moves = {"seen": 1, "others": facts.players - 1, "all": facts.players}[previous]
        super().__init__(facts, hidden[-1] + seat_size + moves * action_size, memory_size)
        self.previous, self.uses_previous = previous, previous != "seen"
        self.last_action = LastAction(facts)
        self.encoder = dense_encoder(facts.observation, hidden, nn.ReLU)
        self.seat_embedding = nn.Embedding(facts.players, seat_size)
        self.action_embedding = nn.Embedding(facts.num_actions + 1, action_size)
        if previous == "all":
            self.own_action_embedding = nn.Embedding(facts.num_actions + 1, action_size)

    def features(self, observation: Tensor, seat: Tensor | None, previous: Tensor | None = None) -> Tensor:
        """Observation, seat and last moves side by side.

        Raises:
            OptionError: no seat was given, or no last moves although the policy uses them.
        """
        if seat is None:
            raise OptionError("hanabi_gru needs the seat: policy(observation, memory, seat)")
        return torch.cat(
            [self.encoder(observation), self.seat_embedding(seat), *self._moves(observation, previous)], -1
        )

    def _moves(self, observation: Tensor, previous: Tensor | None) -> list[Tensor]:
        if not self.uses_previous:
            return [self.action_embedding(self.last_action(observation))]
        if previous is None:
            raise OptionError(
                f"hanabi_gru(previous={self.previous!r}) needs the last move of every seat: "
                "policy(observation, memory, seat, previous); its agent and samplers keep track of them"
            )
        own, others = previous[..., 0], previous[..., 1:]
        told = [self.action_embedding(others).flatten(-2)]
        return [*told, self.own_action_embedding(own)] if self.previous == "all" else told


def check_sizes(hidden: Sequence[int], seat_size: int, action_size: int) -> None:
    """Check the widths of layers.

    Raises:
        OptionError: naming them.
    """
    if not hidden or min(*hidden, seat_size, action_size) < 1:
        raise OptionError(
            f"hidden={hidden!r}, seat_size={seat_size}, action_size={action_size}: widths must be at least 1, hidden needs one layer"
        )
