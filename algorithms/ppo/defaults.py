"""PPO's defaults for games whose rules run elsewhere. Games with kernels have those of `PPOConfig`."""

from __future__ import annotations

from typing import Any

from ludory.envs.game import Game

LONE_TIMESTEPS = 150_000
"""Decisions of a training run in a game of one seat, where nobody says how many."""
LONE: dict[str, Any] = {
    "num_envs": 16,
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 8,
    "learning_rate": 1e-3,
    "final_learning_rate": 0.0,
    "ent_coef": 0.0,
    "hidden": (64, 64),
    "activation": "tanh",
    "separate_value": True,
}
"""For one seat with rewards at every step, as classic control has them."""
TABLE: dict[str, Any] = {
    "num_envs": 64,
    "n_steps": 64,
    "batch_size": 1024,
    "n_epochs": 4,
    "seats": "all",
}
"""For several seats: self-play, or one policy in all seats."""


def suited_to(game: Game) -> dict[str, Any]:
    """Fields of `PPOConfig` whose defaults are others for `game`."""
    if game.kernels is not None:
        return {}
    facts = game.facts
    fields = dict(LONE if facts.players == 1 else TABLE)
    if facts.observation.dtype == "float32":
        fields["normalize_observations"] = True
    if facts.box is not None:
        fields["normalize_rewards"] = True
    count = getattr(game.engine, "num_envs", None)
    if count is not None:  # environments that were handed in: as many steps in all
        fields["n_steps"] = max(fields["n_steps"], fields["n_steps"] * fields["num_envs"] // count)
        fields["num_envs"] = count
    return fields
