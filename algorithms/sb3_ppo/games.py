"""`SB3Games`: takes the place of a `Sampler` for models of Stable-Baselines3, which play their games themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from torch import Tensor

from ludory.envs.views.sb3 import GameVecEnv


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
