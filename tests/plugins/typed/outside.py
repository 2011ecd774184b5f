"""A user's module: a type checker finds the two mistakes that say so, and nothing else."""

from pathlib import Path

import gymnasium
import numpy as np
import torch

import ludory
from ludory.agents import Seat, SeatAgent
from ludory.algorithms.bc import BC
from ludory.algorithms.cfr import CFR
from ludory.algorithms.ppo import PPO
from ludory.envs import Game, State


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


class Counting(SeatAgent):
    """Remembers how often it moved."""

    name = "counting"

    def begin(self) -> list[int]:
        return []

    def decide(self, seat: Seat, own: list[int]) -> int:
        own.append(int(np.flatnonzero(seat.mask)[0]))
        return own[-1]


def picture(state: State, i: int, seat: int | None) -> str:
    return "".join(".XO"[int(state.board[i, cell])] for cell in range(9))


def play(game: Game) -> float:
    engine = ludory.make_engine(game, 4)
    engine.reset(seed=1)
    engine.step(torch.zeros(4, dtype=torch.int64), rows=[0, 1, 2, 3])
    engine.reset(rows=np.flatnonzero(engine.terminated))
    model = PPO("mlp", game)
    actions, memory = model.predict(np.zeros((2, 9)), action_masks=[[True] * 9] * 2)
    model.predict(np.zeros((2, 9)), memory, episode_start=actions > 0)
    print(picture(engine.state, 0, None))
    return ludory.exploitability([Counting(game), "random"], game).nash_conv
