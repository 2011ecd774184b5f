"""A multi-layer perceptron with a policy and a value output."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from ludory.agents.networks.layers.encoders import flat_encoder
from ludory.agents.networks.policy import OutputLinear, Policy, PolicyOutput
from ludory.envs.facts import GameFacts
from ludory.errors import OptionError

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class MlpPolicy(Policy):
    """Hidden layers, then logits and value.

    Args:
        facts: of the game.
        hidden: width of each hidden layer.
        activation: "relu" or "tanh".
        separate_value: give the value hidden layers of its own (as Stable-Baselines3's MlpPolicy does).
    """

    id = "mlp"

    def __init__(
        self,
        facts: GameFacts,
        hidden: Sequence[int] = (256, 256),
        activation: str = "relu",
        separate_value: bool = False,
    ) -> None:
        super().__init__(facts)
        check_layers(hidden, activation)
        towers = 2 if separate_value else 1
        # Both towers read the observation through one layer, so that it is read once.
        self.encoder = flat_encoder(facts.observation, hidden[0] * towers)
        self.activation_name, self.activation = activation, ACTIVATIONS[activation]()
        self.torso = nn.ModuleList(_layers(hidden, ACTIVATIONS[activation]) for _ in range(towers))
        self.logits = OutputLinear(hidden[-1], facts.num_outputs)
        self.value = OutputLinear(hidden[-1], 1)
        self._initialise(hidden[0])

    def _initialise(self, width: int) -> None:
        """Orthogonal weights with gain sqrt(2), 0.01 for logits, 1 for the value; zero biases."""
        for start in range(0, self.encoder.out_features, width):
            nn.init.orthogonal_(self.encoder.weight.data[start : start + width], 2**0.5)
        for module in self.torso.modules():
            if isinstance(module, nn.Linear):
                nn.init.orthogonal_(module.weight, 2**0.5)
        nn.init.orthogonal_(self.logits.weight, 0.01)
        nn.init.orthogonal_(self.value.weight, 1.0)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, observation: Tensor, memory: Tensor | None = None, seat: Tensor | None = None) -> PolicyOutput:
        """Logits and values of m rows; there is no memory."""
        first = self.activation(self.encoder(observation))
        # a chunk of everything would be copied for its gradient
        parts = first.chunk(len(self.torso), -1) if len(self.torso) > 1 else [first]
        hidden = [tower(part) for tower, part in zip(self.torso, parts, strict=True)]
        return PolicyOutput(self.logits(hidden[0]), self.value(hidden[-1]).squeeze(-1), None)


def check_layers(hidden: Sequence[int], activation: str) -> None:
    """Refuse what no network can be built from.

    Raises:
        OptionError: invalid activation, no layer, or a layer of width 0.
    """
    if activation not in ACTIVATIONS or not hidden or min(hidden) < 1:
        raise OptionError(
            f"activation={activation!r}, hidden={hidden!r}: activation is one of {list(ACTIVATIONS)}, hidden has widths of at least 1"
        )


def _layers(hidden: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size, width in pairwise(hidden):
        layers += [nn.Linear(size, width), activation()]
    return nn.Sequential(*layers)
