"""Ludory's PPO on its own engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version

import torch

import ludory


def start(settings: str) -> tuple[dict[str, str], Callable[[bool], int]]:
    """Learns Hanabi for two; a burst is one iteration: a rollout, and the passes over it."""
    torch.set_num_threads(1)
    options = json.loads(settings)
    decisions = int(options["num_envs"] * options["n_steps"])
    model = ludory.make_algorithm(
        "ppo", env="Hanabi2P-v0", **options, activation="relu", separate_value=True, device="cpu", seed=1
    )
    # in the middle of a long run, which compiles what makes it faster
    model.num_timesteps = 1_000_000

    def play(observe: bool) -> int:
        model.learn(decisions, reset_num_timesteps=False)
        return decisions

    play(True)
    return {name: version(name) for name in ("ludory", "torch")}, play
