"""MaskablePPO of sb3-contrib on Ludory's engine, through `to_sb3`."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version

import gymnasium as gym
import torch
from sb3_contrib import MaskablePPO

from ludory.envs.views.sb3 import to_sb3


def start(settings: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """Learns Hanabi for two; a burst is one iteration: a rollout, and the passes over it."""
    torch.set_num_threads(1)
    options = json.loads(settings)
    hidden, num_envs = options.pop("hidden"), options.pop("num_envs")
    decisions = int(num_envs * options["n_steps"])
    network = {"net_arch": {"pi": hidden, "vf": hidden}, "activation_fn": torch.nn.ReLU}
    envs = to_sb3(gym.make_vec("Hanabi2P-v0", num_envs=num_envs))
    model = MaskablePPO("MlpPolicy", envs, **options, policy_kwargs=network, device="cpu", seed=1)

    def play(observe: bool) -> int:
        model.learn(decisions, reset_num_timesteps=False)
        return decisions

    play(True)
    return {name: version(name) for name in ("sb3-contrib", "stable-baselines3", "torch")}, play
