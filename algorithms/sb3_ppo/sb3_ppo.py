"""`SB3PPO`: Stable-Baselines3's own loop and update, with the interface of Ludory's algorithms."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import safe_mean
from torch import Tensor
from typing_extensions import Unpack

from ludory.agents.networks.build import PolicySpec, parse_policy, policy_of
from ludory.agents.networks.import_sb3 import copy_weights, is_sb3_file, network_of, read_sb3
from ludory.agents.networks.policies.mlp import MlpPolicy
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.keywords import SB3PPOKeywords
from ludory.algorithms.running.optimiser_state import load_adam, save_adam
from ludory.algorithms.sampling.step_locals import EPISODES
from ludory.checkpoints.checkpoint import read_checkpoint, read_header
from ludory.envs.make import EnvLike
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import GameVecEnv, to_sb3
from ludory.errors import CheckpointError, OptionError

from .config import SB3PPOConfig
from .export import OPTIONS, Model, build_sb3, write_sb3
from .games import OnStep, SB3Games

LAYERS = (64, 64)
ACTIVATION = "tanh"
"""Stable-Baselines3's own network."""


class SB3PPO(Algorithm):
    """`MaskablePPO` (or `PPO`) on Ludory's games; `sb3` is the model itself.

    `policy` and `sb3.policy` share their weights, so either may be read or loaded. A checkpoint holds weights, Adam's moments,
    games and random state, as for other algorithms: a resumed run gets the same numbers. `export_sb3` writes a plain .zip.
    """

    id = "sb3_ppo-v1"
    config_class: ClassVar[type[SB3PPOConfig]] = SB3PPOConfig
    config: SB3PPOConfig
    sampler: SB3Games  # type: ignore[assignment]  # the model plays its games itself

    def __init__(
        self, policy: str | PolicySpec = "auto", env: EnvLike | None = None, **config: Unpack[SB3PPOKeywords]
    ) -> None:
        spec = parse_policy(policy)
        if spec.id != MlpPolicy.id or spec.arguments.get("separate_value") is False:
            raise OptionError(
                f"policy {policy!r}: Stable-Baselines3 has networks like 'mlp' only, with layers of its own for the value"
            )
        super().__init__(policy, env, **config)

    def _policy_wishes(self) -> dict[str, Any]:
        """Stable-Baselines3's layers, or those of `init_from` where the config names none."""
        config = self.config
        start = _layers(config.init_from) if config.init_from else {}
        activation = start.get("activation", ACTIVATION) if config.activation == "auto" else config.activation
        hidden = config.hidden or start.get("hidden", LAYERS)
        return {"hidden": tuple(hidden), "activation": activation, "separate_value": True}

    def setup(self) -> None:
        """Make the model, whose network shares its weights with `policy`."""
        network = network_of(self.policy, self.game.id)
        kind = MaskablePPO if self.config.masked else PPO
        options = {name: getattr(self.config, name) for name in OPTIONS}
        rate = self.config.learning_rate
        if self.config.anneal_learning_rate:
            options["learning_rate"] = lambda remaining: rate * remaining
        self.sb3: Model = build_sb3(kind, self.get_env(), network, options, self.device)
        self.sb3.set_logger(Logger(None, []))
        for name, parameter in self.sb3.policy.named_parameters():
            parameter.data = network.weights[name]

    def _open_source(self) -> None:
        config = self.config
        seats: Any = {"auto": None}.get(config.seats, int(config.seats) if config.seats.isdigit() else config.seats)
        games = make_vector_env(
            self.game,
            config.num_envs,
            device=config.device,
            seats=seats,
            others="random" if config.others == "auto" else config.others,
        )
        self.engine, self.sampler = games.engine, SB3Games(to_sb3(games), config.seed)

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """One rollout and its passes, by the model's own code."""
        model, config = self.sb3, self.config
        self.sampler.hand_over(model)
        _, callback = model._setup_learn(self._total_timesteps, OnStep(self.sampler, on_step), False)
        model.num_timesteps = self.num_timesteps
        masking = {"use_masking": True} if config.masked else {}
        with self._own_random_state():
            if not model.collect_rollouts(self.get_env(), callback, model.rollout_buffer, config.n_steps, **masking):
                return None
            model._current_progress_remaining = self.progress_remaining
            model.train()
        metrics = {name: float(value) for name, value in model.logger.name_to_value.items()}
        model.logger.dump()
        if model.ep_info_buffer:
            metrics["rollout/ep_rew_mean"] = float(safe_mean([ended["r"] for ended in model.ep_info_buffer]))
            metrics["rollout/ep_len_mean"] = float(safe_mean([ended["l"] for ended in model.ep_info_buffer]))
        return metrics

    @contextmanager
    def _own_random_state(self) -> Iterator[None]:
        """Seed the global generators, which Stable-Baselines3 draws from, with ours, and restore them afterwards."""
        seed = int(torch.randint(2**31, (), generator=self.generator, device=self.device))
        before = np.random.get_state()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            np.random.seed(seed)
            try:
                yield
            finally:
                np.random.set_state(before)

    def training_state(self) -> dict[str, Tensor]:
        """Adam's moments."""
        return save_adam(self.sb3.policy.optimizer)  # type: ignore[arg-type]  # it is Adam

    def restore_training_state(self, state: dict[str, Tensor]) -> None:
        """Restore Adam's moments."""
        load_adam(self.sb3.policy.optimizer, state)  # type: ignore[arg-type]

    def get_env(self) -> GameVecEnv:
        """The games that the model trains on."""
        return self.sampler.env

    def set_env(self, env: EnvLike, force_reset: bool = True) -> None:
        """As `Algorithm.set_env`."""
        super().set_env(self.game if env is self.get_env() else env, force_reset)
        self.sb3.set_env(self.get_env())

    @property
    def ep_info_buffer(self) -> deque[dict[str, Any]]:
        """That of the model."""
        return self.sb3.ep_info_buffer or deque(maxlen=EPISODES)

    def _stateful(self) -> dict[str, Any]:
        """Those of the model, whose network shares its weights with `policy`."""
        return {"policy": self.sb3.policy, "policy.optimizer": self.sb3.policy.optimizer}

    def export_sb3(self, file: str | Path) -> None:
        """Write the model as Stable-Baselines3 itself does, with its optimiser and options: `MaskablePPO.load(file, env=...)`.

        Raises:
            OutputError: the place cannot be written to.
        """
        self.sb3.num_timesteps = self.num_timesteps
        write_sb3(self.sb3, file)

    def _start_from(self, file: str) -> None:
        """Take the weights of a model of Stable-Baselines3 or a checkpoint, its one tower twice if it has no second."""
        if is_sb3_file(file):
            network = read_sb3(file)
        else:
            checkpoint = read_checkpoint(file)
            source = policy_of(file, *checkpoint, self.game)
            network = network_of(source, checkpoint.header["env"]["id"])._replace(separate_value=True)
        copy_weights(file, network, self.policy, self.game.id)


def _layers(file: str) -> Mapping[str, Any]:
    """Layers and activation of the network in a file."""
    if is_sb3_file(file):
        return read_sb3(file).spec.arguments
    header = read_header(file)
    arguments: Mapping[str, Any] = header["policy"]["arguments"]
    if header["policy"]["id"] != "mlp":
        raise CheckpointError(f"{file}: a network {header['policy']['id']!r}; sb3_ppo can start from 'mlp' only")
    return arguments
