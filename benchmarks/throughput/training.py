"""Contestants that learn Hanabi for two end to end: PPO of Ludory, and MaskablePPO of sb3-contrib on the same engine.

They are compared at Stable-Baselines3's own batch and epochs, where a step's cost is many small updates, and once more at large
batches, where it is arithmetic alone. Network (64-64, ReLU, hidden layers of its own for the value) and games are the same.
"""

from __future__ import annotations

import json

from .contestant import Comparison, Contestant, ours

DEFAULTS = {"num_envs": 64, "n_steps": 32, "batch_size": 64, "n_epochs": 10, "hidden": [64, 64]}
"""Batch, epochs, network and decisions per iteration (2,048) that Stable-Baselines3 has by default."""
LARGE = {"num_envs": 1024, "n_steps": 64, "batch_size": 8192, "n_epochs": 2, "hidden": [64, 64]}
COMPARISONS = (Comparison("ppo", "maskable-ppo", 5), Comparison("ppo-large", "maskable-ppo-large"))
_INCLUDES = "sampling with the policy, observation, legal mask, advantages, gradient steps"


def learners() -> list[Contestant]:
    """Both learners, with both settings."""
    return [*_pair(DEFAULTS, "", "batch 64, 10 epochs"), *_pair(LARGE, "-large", "batch 8192, 2 epochs")]


def _pair(settings: dict[str, object], suffix: str, words: str) -> list[Contestant]:
    text = json.dumps(settings)

    def contestant(key: str, name: str, module: str, own: bool) -> Contestant:
        return Contestant(key + suffix, f"{name}, {words}", "training", _INCLUDES, ours(module, text), own=own)

    return [
        contestant("ppo", "Ludory PPO", "ludory_ppo", own=True),
        contestant("maskable-ppo", "MaskablePPO", "sb3_maskable_ppo", own=False),
    ]
