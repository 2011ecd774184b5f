"""`PrivilegedValue`: a value function that sees hidden state; for training only, never part of a policy."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ludory.agents.networks.layers.encoders import dense_encoder
from ludory.agents.networks.policies.mlp import ACTIVATIONS, check_layers
from ludory.envs.facts import GameFacts

WIDTHS = (256, 256)


class PrivilegedValue(nn.Module):
    """Hidden layers over the output of `Engine.critic`, then a value.

    Args:
        facts: of the game.
        hidden: width of each hidden layer.
        activation: "relu" or "tanh".

    Raises:
        OptionError: invalid activation, no layer, or a layer of width 0.

    Source: the centralised value function of doi:10.1038/s41586-019-1724-z (Methods); arXiv 1706.02275.
    """

    def __init__(self, facts: GameFacts, hidden: Sequence[int] = WIDTHS, activation: str = "relu") -> None:
        super().__init__()
        check_layers(hidden, activation)
        self.encoder = dense_encoder(facts.critic_spec, hidden, ACTIVATIONS[activation])
        self.value = nn.Linear(hidden[-1], 1)
        nn.init.orthogonal_(self.value.weight, 1.0)
        nn.init.zeros_(self.value.bias)

    def forward(self, known: Tensor) -> Tensor:
        """Values (...) from bits (..., bytes) or floats (..., size)."""
        values: Tensor = self.value(self.encoder(known))
        return values.squeeze(-1)
