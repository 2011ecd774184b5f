"""A deep perceptron: pre-norm residual blocks (arXiv 1603.05027, 2002.04745), logits and value."""

from __future__ import annotations

from torch import Tensor, nn

from ludory.agents.networks.layers.encoders import flat_encoder
from ludory.agents.networks.policy import Policy, PolicyOutput, output_layers
from ludory.envs.facts import GameFacts
from ludory.errors import OptionError

from .mlp import ACTIVATIONS, check_layers


class ResidualPolicy(Policy):
    """A linear layer, residual blocks, then logits and value.

    Args:
        facts: of the game.
        width: of every layer.
        num_blocks: residual blocks, two layers each.
        activation: "relu" or "tanh".
    """

    id = "residual"

    def __init__(self, facts: GameFacts, width: int = 256, num_blocks: int = 2, activation: str = "relu") -> None:
        super().__init__(facts)
        check_layers((width,), activation)
        if num_blocks < 1:
            raise OptionError(
                f"num_blocks={num_blocks}: must be at least 1; without blocks, take mlp(hidden=({width},))"
            )
        self.encoder = flat_encoder(facts.observation, width)
        nn.init.orthogonal_(self.encoder.weight, 2**0.5)
        nn.init.zeros_(self.encoder.bias)
        blocks = (ResidualBlock(width, ACTIVATIONS[activation](), num_blocks**-0.5) for _ in range(num_blocks))
        self.torso = nn.Sequential(*blocks, nn.LayerNorm(width))
        self.logits, self.value = output_layers(width, facts)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Logits and values of m rows; there is no memory."""
        hidden = self.torso(self.encoder(observation))
        return PolicyOutput(self.logits(hidden), self.value(hidden).squeeze(-1), None)


class ResidualBlock(nn.Module):
    """`x + second(activation(first(norm(x))))`.

    Args:
        width: of x.
        activation: between the layers.
        gain: of the second layer's orthogonal weights; 1 / sqrt(blocks) keeps the sum of all blocks at the size of one.
    """

    def __init__(self, width: int, activation: nn.Module, gain: float) -> None:
        super().__init__()
        self.norm, self.activation = nn.LayerNorm(width), activation
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        for layer, size in ((self.first, 2**0.5), (self.second, gain)):
            nn.init.orthogonal_(layer.weight, size)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) from (..., width)."""
        change: Tensor = self.second(self.activation(self.first(self.norm(x))))
        return x + change
