"""Tianshou learns a game: its DQN, with legal masks, on the Gymnasium view.

Tianshou needs pandas 2 and other versions than Ludory's extras, so install it into an environment of its own:
pip install ludory tianshou; python examples/tianshou_masked_dqn.py
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import ludory  # makes the ids known


class WithMask(gym.Wrapper[dict[str, Any], Any, Any, Any]):
    """Observations as Tianshou reads them: what is seen as `obs`, and the legal actions as `mask`."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        actions = gym.spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = gym.spaces.Dict({"obs": env.observation_space, "mask": actions})

    def reset(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """As the environment, with the mask beside the observation."""
        observation, info = self.env.reset(**options)
        return {"obs": observation, "mask": info["action_mask"]}, info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """As the environment, with the mask beside the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return {"obs": observation, "mask": info["action_mask"]}, reward, terminated, truncated, info


def make_env() -> gym.Env[Any, Any]:
    """One game that the policy plays for all seats."""
    return WithMask(gym.make("HanabiTiny2P-v0"))


def mean_return(algorithm: DQN[Any], games: int) -> float:
    """Of new games, without exploration."""
    collector = Collector(algorithm, DummyVectorEnv([make_env for _ in range(10)]))
    collector.reset()
    played = collector.collect(n_episode=games)
    return float(played.returns.mean())


def main(decisions: int = 20_000, games: int = 200) -> tuple[float, float]:
    """Learn a tiny Hanabi; returns mean returns before and after."""
    np.random.seed(0)  # Tianshou explores with NumPy's global generator
    torch.manual_seed(0)
    env = make_env()
    network = Net(
        state_shape=env.observation_space["obs"].shape, action_shape=env.action_space.n, hidden_sizes=[64, 64]
    )
    policy = DiscreteQLearningPolicy(
        model=network, action_space=env.action_space, observation_space=env.observation_space, eps_training=0.1
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.99, target_update_freq=200)
    before = mean_return(algorithm, games)
    envs = DummyVectorEnv([make_env for _ in range(10)])
    training = Collector(algorithm, envs, VectorReplayBuffer(20_000, len(envs)), exploration_noise=True)
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=training,
            max_epochs=1,
            epoch_num_steps=decisions,
            collection_step_num_env_steps=50,
            update_step_num_gradient_steps_per_sample=0.1,
            batch_size=64,
            verbose=False,
            show_progress=False,
        )
    )
    after = mean_return(algorithm, games)
    print(
        f"mean return with ludory {ludory.__version__}: {before:.2f} before, {after:.2f} after {decisions:,} decisions"
    )
    return before, after


if __name__ == "__main__":
    main()
