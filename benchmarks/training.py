"""Contestants that learn Hanabi for two end to end: PPO of Ludory, and MaskablePPO of sb3-contrib on the same engine."""

from __future__ import annotations

import json

from .contestant import Comparison, Contestant, ours

SETTINGS = {"num_envs": 1024, "n_steps": 64, "batch_size": 8192, "n_epochs": 2, "hidden": [64, 64]}
"""The same for both, as are ReLU and hidden layers of its own for the value."""
COMPARISONS = (Comparison("ppo", "maskable-ppo", 5),)
_INCLUDES = "sampling with the policy, observation, legal mask, advantages, gradient steps"


def learners() -> list[Contestant]:
    """Both learners."""
    settings = json.dumps(SETTINGS)
    return [
        Contestant("ppo", "Ludory PPO", "training", _INCLUDES, ours("ludory_ppo", settings), own=True),
        Contestant(
            "maskable-ppo", "MaskablePPO, to_sb3", "training", _INCLUDES, ours("sb3_maskable_ppo", settings), own=False
        ),
    ]
