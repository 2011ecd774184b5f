"""A recurrent policy for any game: hidden layers, then a GRU."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ludory.agents.networks.layers.encoders import dense_encoder
from ludory.agents.networks.layers.recurrent import RecurrentPolicy
from ludory.envs.facts import GameFacts

from .mlp import ACTIVATIONS, check_layers


class GruPolicy(RecurrentPolicy):
    """Hidden layers, a GRU whose state is the memory, then logits and value.

    Args:
        facts: of the game.
        hidden: width of each layer in front of the GRU.
        memory_size: width of the GRU.
        activation: "relu" or "tanh", of the layers in front.
    """

    id = "gru"

    def __init__(
        self, facts: GameFacts, hidden: Sequence[int] = (256,), memory_size: int = 256, activation: str = "relu"
    ) -> None:
        check_layers(hidden, activation)
        super().__init__(facts, hidden[-1], memory_size)
        self.encoder = dense_encoder(facts.observation, hidden, ACTIVATIONS[activation])

    def features(self, observation: Tensor, seat: Tensor | None, previous: Tensor | None = None) -> Tensor:
        """The observation through the hidden layers."""
        hidden: Tensor = self.encoder(observation)
        return hidden
