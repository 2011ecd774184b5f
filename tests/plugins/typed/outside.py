"""A user's module: a type checker finds the two mistakes that say so, and nothing else."""

from pathlib import Path

import gymnasium

import ludory
from ludory.algorithms.bc import BC
from ludory.algorithms.cfr import CFR
from ludory.algorithms.ppo import PPO


def train(games: Path, settings: dict[str, float]) -> float:
    model = PPO("mlp", "TicTacToe-v0", learning_rate=3e-4, hidden=[64, 64], others="random", verbose=1)
    model.learn(10_000).save(games / "model.ludory")
    PPO("mlp", lambda: gymnasium.make("CartPole-v1"), learning_rat=3e-4)  # mistake: no such option
    clone = ludory.make_algorithm("bc", dataset=games, num_epochs=2, tensorboard_log=games / "logs")
    tuned = ludory.make_algorithm("ppo-v1", ludory.make_game("Go9-v0"), "gru(memory_size=64)", tuned=True, n_steps=16)
    tuned.learn("many")  # mistake: not a number
    other: BC | CFR = clone if games.exists() else CFR("auto", "KuhnPoker-v0", report_every=5)
    other.learn(5)
    ludory.make_algorithm("of-a-package", gymnasium.make_vec("CartPole-v1", 2), anything=3).learn(5)
    return tuned.config.learning_rate
