"""`SB3PPO`: Stable-Baselines3's own loop and update, with the interface of Ludory's algorithms, and its .zip files of our networks."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.utils import safe_mean
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor
from typing_extensions import Unpack

from ludory.agents.networks import import_sb3
from ludory.agents.networks.build import PolicySpec, parse_policy, policy_of
from ludory.agents.networks.policies.mlp import ACTIVATIONS, MlpPolicy
from ludory.algorithms.algorithm import Algorithm
from ludory.algorithms.keywords import SB3PPOKeywords
from ludory.algorithms.running.optimiser_state import load_adam, save_adam
from ludory.algorithms.sampling.step_locals import EPISODES
from ludory.atomic import atomic_file
from ludory.checkpoints.checkpoint import read_checkpoint, read_header
from ludory.envs.make import EnvLike
from ludory.envs.views.gymnasium_vector import make_vector_env
from ludory.envs.views.sb3 import GameVecEnv, to_sb3
from ludory.errors import CheckpointError, OptionError

from .config import SB3PPOConfig


class SB3Games:
    """The training games of a model of Stable-Baselines3, and their state.

    Args:
        env: the games.
        seed: game k of this seed starts in row k.
    """

    def __init__(self, env: GameVecEnv, seed: int) -> None:
        self.env, self.seed, self.started = env, seed, False
        self.watched = True  # the model's loop makes `locals` in any case
        self.critic = None
        self.last_step: dict[str, Any] = {}
        """Local variables of the model's loop after a step: `dones`, `infos`, `rewards`, `actions` and others."""
        self._resumed: Any = None

    @property
    def decisions_per_step(self) -> int:
        """Timesteps of one step of all games."""
        return self.env.num_envs

    def hand_over(self, model: OnPolicyAlgorithm) -> None:
        """Give a model the observations of games that were just started or resumed; from then on it keeps them itself."""
        if not self.started:
            self.env.seed(self.seed)
            self._resumed, self.started = self.env.reset(), True
        if self._resumed is not None:
            model._last_obs = self._resumed
            model._last_episode_starts = self.env.starts
            self._resumed = None

    def settle(self) -> None:
        """As `Sampler.settle`: the games run in this process."""

    def state(self) -> dict[str, Tensor]:
        """Returns and lengths of unfinished games; with the engine's state, all that a resumed run needs."""
        return {name: torch.from_numpy(np.array(value)) for name, value in self.env.running().items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore what `state` returned."""
        self._resumed, self.started = self.env.resume({name: part.numpy() for name, part in state.items()}), True


class OnStep(BaseCallback):
    """Calls a learner's `on_step` after each step of a model's loop."""

    def __init__(self, games: SB3Games, on_step: Callable[[], bool]) -> None:
        super().__init__()
        self._games, self._call = games, on_step

    def _on_step(self) -> bool:
        self._games.last_step = self.locals
        return self._call()


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
        network = import_sb3.network_of(self.policy, self.game.id)
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
            others=None if config.others in ("auto", "self") or seats == "all" else config.others,
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
        if import_sb3.is_sb3_file(file):
            network = import_sb3.read_sb3(file)
        else:
            checkpoint = read_checkpoint(file)
            source = policy_of(file, *checkpoint, self.game)
            network = import_sb3.network_of(source, checkpoint.header["env"]["id"])._replace(separate_value=True)
        import_sb3.copy_weights(file, network, self.policy, self.game.id)


def _layers(file: str) -> Mapping[str, Any]:
    """Layers and activation of the network in a file."""
    if import_sb3.is_sb3_file(file):
        return import_sb3.read_sb3(file).spec.arguments
    header = read_header(file)
    arguments: Mapping[str, Any] = header["policy"]["arguments"]
    if header["policy"]["id"] != "mlp":
        raise CheckpointError(f"{file}: a network {header['policy']['id']!r}; sb3_ppo can start from 'mlp' only")
    return arguments


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
    network = import_sb3.network_of(model.policy, model.game.id)
    env = to_sb3(make_vector_env(model.game, num_envs=1))
    options = {name: getattr(model.config, name, None) for name in OPTIONS}
    given = {name: value for name, value in options.items() if isinstance(value, bool | int | float)}
    sb3 = build_sb3(MaskablePPO, env, network, given)
    sb3.policy.load_state_dict(import_sb3.to_sb3_policy(model.policy))
    sb3.num_timesteps = model.num_timesteps
    write_sb3(sb3, file)


def build_sb3(
    kind: type[MaskablePPO] | type[PPO],
    env: VecEnv,
    network: import_sb3.Sb3Network,
    options: Mapping[str, Any],
    device: str | torch.device = "cpu",
) -> Model:
    """A model with fresh weights and the layers of `network`; draws nothing from the global generators."""
    towers = {"pi": list(network.hidden), "vf": list(network.hidden)}
    arguments = {"net_arch": towers, "activation_fn": ACTIVATIONS[network.activation], "normalize_images": False}
    with torch.random.fork_rng():
        model: Model = kind("MlpPolicy", env, policy_kwargs=arguments, device=device, **options)
    setattr(model, import_sb3.GAME, network.game)
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
