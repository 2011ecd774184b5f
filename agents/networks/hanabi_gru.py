"""A recurrent policy for Hanabi that knows its seat and the last move; at two seats the network of HIKARU's PPO-GRU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ludory.envs.game import GameFacts
from ludory.errors import OptionError

from .encoders import dense_encoder
from .hanabi_last_action import LastAction
from .recurrent import RecurrentPolicy


class HanabiGruPolicy(RecurrentPolicy):
    """Hidden layers over the observation, embeddings of seat and last move; then a GRU, logits and value.

    At two seats the last move before one's own is always the other seat's. At more than two it is that of the seat before; moves
    further back are not part of an observation. The last move's id is read off the observation, with A for "none yet".

    Args:
        facts: of Hanabi, any number of seats, any observation.
        hidden: width of each layer over the observation.
        memory_size: width of the GRU.
        seat_size: width of the embedding of the (absolute) seat.
        action_size: width of the embedding of the last move.

    Raises:
        OptionError: the game is not Hanabi, or a width is below 1.
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
    ) -> None:
        check_sizes(hidden, seat_size, action_size)
        super().__init__(facts, hidden[-1] + seat_size + action_size, memory_size)
        self.last_action = LastAction(facts)
        self.encoder = dense_encoder(facts.observation, hidden, nn.ReLU)
        self.seat_embedding = nn.Embedding(facts.players, seat_size)
        self.action_embedding = nn.Embedding(facts.num_actions + 1, action_size)

    def features(self, observation: Tensor, seat: Tensor | None) -> Tensor:
        """Observation, seat and last move side by side.

        Raises:
            OptionError: no seat was given.
        """
        if seat is None:
            raise OptionError("hanabi_gru must be told which seat it plays: policy(observation, memory, seat)")
        last = self.action_embedding(self.last_action(observation))
        return torch.cat([self.encoder(observation), self.seat_embedding(seat), last], -1)


def check_sizes(hidden: Sequence[int], seat_size: int, action_size: int) -> None:
    """Refuse widths that no layer can have.

    Raises:
        OptionError: naming them.
    """
    if not hidden or min(*hidden, seat_size, action_size) < 1:
        raise OptionError(
            f"hidden={hidden!r}, seat_size={seat_size}, action_size={action_size}: widths must be at least 1, hidden needs one layer"
        )
