"""`PrivilegedValue`, a value function that sees hidden state, for training only: how it is made, saved, restored and evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ludory.agents.networks.layers.encoders import dense_encoder
from ludory.agents.networks.policies.mlp import ACTIVATIONS, check_layers
from ludory.agents.networks.policy import OutputLinear
from ludory.envs.facts import GameFacts
from ludory.errors import OptionError

from .rollout import Rollout

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
        self.value = OutputLinear(hidden[-1], 1)
        nn.init.orthogonal_(self.value.weight, 1.0)
        nn.init.zeros_(self.value.bias)

    def forward(self, known: Tensor) -> Tensor:
        """Values (...) from bits (..., bytes) or floats (..., size)."""
        values: Tensor = self.value(self.encoder(known))
        return values.squeeze(-1)


PREFIX = "privileged_value/"


# The configs of PPO and V-trace share no class that has `privileged_value`.
def make_privileged_value(config: Any, facts: GameFacts, device: torch.device) -> PrivilegedValue | None:
    """The value network of a config with `privileged_value`, else None; the config's seed determines its weights."""
    if not config.privileged_value:
        return None
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        network = PrivilegedValue(facts, config.hidden or WIDTHS, config.activation or "relu").to(device)
    if config.compile:
        network.compile()
    return network


def save_value(network: PrivilegedValue | None) -> dict[str, Tensor]:
    """Its weights by name, for the training state of a checkpoint; playing does not need them."""
    return {} if network is None else {PREFIX + name: tensor for name, tensor in network.state_dict().items()}


def load_value(network: PrivilegedValue | None, state: Mapping[str, Tensor]) -> None:
    """Restore what `save_value` returned; a run without a privileged value before continues with a fresh one."""
    weights = {name.removeprefix(PREFIX): part for name, part in state.items() if name.startswith(PREFIX)}
    if network is not None and weights:
        network.load_state_dict(weights)


def values_of(network: PrivilegedValue, rollout: Rollout) -> Tensor:
    """[T, B] values of a rollout's decisions.

    Raises:
        OptionError: the rollout lacks the input of a privileged value.
    """
    check_seen(rollout)
    values: Tensor = network(rollout.critic)
    return values


def check_seen(rollout: Rollout) -> None:
    """Check that a rollout has the input of a privileged value.

    Raises:
        OptionError: it does not.
    """
    if rollout.critic is None:
        raise OptionError(
            "privileged_value=True: these games are sampled without what a privileged value sees; leave it out here"
        )
