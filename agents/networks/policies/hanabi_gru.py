"""A recurrent policy for Hanabi that knows its seat and the last move; at two seats the network of HIKARU's PPO-GRU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ludory.agents.networks.layers.encoders import dense_encoder
from ludory.agents.networks.layers.recurrent import RecurrentPolicy
from ludory.envs.game import GameFacts
from ludory.errors import OptionError

from .hanabi_last_action import LastAction

PREVIOUS = ("seen", "others", "all")


class HanabiGruPolicy(RecurrentPolicy):
    """Hidden layers over the observation, embeddings of seat and last moves; then a GRU, logits and value.

    Ids of moves count seats from the one that moves; A stands for "none yet". At two seats the last move of all is the other
    seat's, and can be read off the observation. At more than two that is the move of the seat before; moves further back, and
    one's own, are not part of an observation, so the network has to be told them (`uses_previous`).

    Args:
        facts: of Hanabi, any number of seats, any observation.
        hidden: width of each layer over the observation.
        memory_size: width of the GRU.
        seat_size: width of the embedding of the (absolute) seat.
        action_size: width of the embedding of a last move.
        previous: whose last moves it knows: "seen", the one that the observation shows; "others", that of each other seat, the next
            one first; "all", after these its own.

    Raises:
        OptionError: the game is not Hanabi, a width is below 1, or there is no such `previous`.
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
            OptionError: no seat was given, or no last moves although it wants to be told them.
        """
        if seat is None:
            raise OptionError("hanabi_gru must be told which seat it plays: policy(observation, memory, seat)")
        return torch.cat(
            [self.encoder(observation), self.seat_embedding(seat), *self._moves(observation, previous)], -1
        )

    def _moves(self, observation: Tensor, previous: Tensor | None) -> list[Tensor]:
        if not self.uses_previous:
            return [self.action_embedding(self.last_action(observation))]
        if previous is None:
            raise OptionError(
                f"hanabi_gru(previous={self.previous!r}) must be told the last move of every seat: "
                "policy(observation, memory, seat, previous); an agent of it, or a sampler, keeps count of them"
            )
        own, others = previous[..., 0], previous[..., 1:]
        told = [self.action_embedding(others).flatten(-2)]
        return [*told, self.own_action_embedding(own)] if self.previous == "all" else told


def check_sizes(hidden: Sequence[int], seat_size: int, action_size: int) -> None:
    """Refuse widths that no layer can have.

    Raises:
        OptionError: naming them.
    """
    if not hidden or min(*hidden, seat_size, action_size) < 1:
        raise OptionError(
            f"hidden={hidden!r}, seat_size={seat_size}, action_size={action_size}: widths must be at least 1, hidden needs one layer"
        )
