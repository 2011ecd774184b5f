"""The last layers of a network: logits and value."""

from __future__ import annotations

from torch import nn

from ludory.envs.game import GameFacts


def output_layers(width: int, facts: GameFacts) -> tuple[nn.Linear, nn.Linear]:
    """Layers from features (..., width) to logits (..., A) and to the value (..., 1).

    Orthogonal weights with gain 0.01 for logits, so that play starts nearly uniform, and 1 for the value; zero biases.
    """
    logits, value = nn.Linear(width, facts.num_outputs), nn.Linear(width, 1)
    for layer, gain in ((logits, 0.01), (value, 1.0)):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return logits, value
