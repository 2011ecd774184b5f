"""Models of Stable-Baselines3 around our networks, and their .zip files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from ludory.agents.networks.import_sb3 import GAME, Sb3Network, network_of, to_sb3_policy
from ludory.agents.networks.policies.mlp import ACTIVATIONS
from ludory.algorithms.algorithm import Algorithm
from ludory.atomic import atomic_file
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import to_sb3

Model: TypeAlias = MaskablePPO | PPO

OPTIONS = (
    *("learning_rate", "n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range"),
    *("normalize_advantage", "ent_coef", "vf_coef", "max_grad_norm", "target_kl"),
)
"""Arguments of `MaskablePPO` and `PPO` that configs of Ludory have too."""


def export_sb3(model: Algorithm, file: str | Path) -> None:
    """Write a model as the .zip that `MaskablePPO.load(file, env=to_sb3(...))` reads. Atomic.

    Networks without `separate_value` get the one tower twice, once for each purpose. Options that the model's config shares with
    `MaskablePPO` go along where they are plain numbers; the optimiser starts anew (of an sb3_ppo model it goes along too).

    Raises:
        OptionError: the network is not an `MlpPolicy`.
        OutputError: the place cannot be written to.
    """
    network = network_of(model.policy, model.game.id)
    env = to_sb3(make_vector_env(model.game, num_envs=1))
    options = {name: getattr(model.config, name, None) for name in OPTIONS}
    given = {name: value for name, value in options.items() if isinstance(value, bool | int | float)}
    sb3 = build_sb3(MaskablePPO, env, network, given)
    sb3.policy.load_state_dict(to_sb3_policy(model.policy))
    sb3.num_timesteps = model.num_timesteps
    write_sb3(sb3, file)


def build_sb3(
    kind: type[MaskablePPO] | type[PPO],
    env: VecEnv,
    network: Sb3Network,
    options: Mapping[str, Any],
    device: str | torch.device = "cpu",
) -> Model:
    """A model with fresh weights and the layers of `network`; draws nothing from the global generators."""
    towers = {"pi": list(network.hidden), "vf": list(network.hidden)}
    arguments = {"net_arch": towers, "activation_fn": ACTIVATIONS[network.activation], "normalize_images": False}
    with torch.random.fork_rng():
        model: Model = kind("MlpPolicy", env, policy_kwargs=arguments, device=device, **options)
    setattr(model, GAME, network.game)
    return model


def write_sb3(model: Model, file: str | Path) -> None:
    """Save a model of Stable-Baselines3, atomically.

    Raises:
        OutputError: the place cannot be written to.
    """
    whole = io.BytesIO()
    model.save(whole)
    with atomic_file(file) as handle:
        handle.write(whole.getvalue())
