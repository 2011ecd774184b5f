"""`Texas42Oracle`: learns exact values of Texas 42 with open hands."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

from rich.console import RenderableType

from ludory.agents import NeuralAgent, PolicySpec
from ludory.agents.texas42.networks.domino import DominoTransformer
from ludory.agents.texas42.play.network import NetworkAgent
from ludory.algorithms import SupervisedAlgorithm
from ludory.envs import EnvLike, Game
from ludory.errors import OptionError

from .config import Texas42OracleConfig
from .data import OracleData, read_split
from .module import OracleModule
from .report import epoch_table

GAME = "Texas42Play-v0"


class Texas42Oracle(SupervisedAlgorithm):
    """A network that learns exact values with open hands, with the options of `Texas42OracleConfig`.

    It reads tokens of states instead of observations, so it has no `predict`; as an agent it draws worlds and averages.
    """

    id = "texas42_oracle-v1"
    config_class: ClassVar[type[Texas42OracleConfig]] = Texas42OracleConfig
    config: Texas42OracleConfig
    policy: DominoTransformer

    def __init__(self, policy: str | PolicySpec = "auto", env: EnvLike = GAME, **config: Any) -> None:
        super().__init__("domino" if policy == "auto" else policy, env, **config)
        if not isinstance(self.policy, DominoTransformer):
            raise OptionError(
                f"policy {self.policy_spec.id!r}: {self.id} learns with 'domino', e.g. domino(width=64, num_layers=2)"
            )

    def data_size(self, data: OracleData) -> int:
        """Number of states."""
        return len(data.state)

    def read_split(self, name: Literal["train", "val"]) -> OracleData:
        """The split as `OracleData`."""
        config = self.config
        if config.dataset is None:
            raise OptionError(
                f"{self.id} needs dataset=: a folder that `ludory texas42 labels` or `generate` has filled"
            )
        keeps = config.keep_forced and name == "train"  # regret is of states with a choice
        data = read_split(config.dataset, name, config.per_decision, config.sampler_seed, keeps)
        if data.left_out and name == "train":
            print(
                f"ludory: {data.left_out:,} states of the shards have no choice and are left out; --keep-forced "
                "(keep_forced=True) learns their value, too",
                file=sys.stderr,
            )
        return data

    def make_module(self) -> OracleModule:
        """The module that Lightning trains."""
        return OracleModule(self.policy, self.optimizer, self.config, self.training_data, self.validation_data, self)

    @property
    def num_samples(self) -> int:
        """States of an epoch."""
        return len(self.training_data.state)

    def learning_rate_at(self, done: float) -> float:
        """Linear warm-up, then a half cosine."""
        first, last, warmup = self.config.learning_rate, self.config.final_learning_rate, self.config.warmup
        if done < warmup:
            return first * max(done / warmup, 0.01)
        return first if last is None else last + (first - last) * 0.5 * (1 + math.cos(math.pi * done))

    def epoch_report(self, metrics: Mapping[str, float]) -> RenderableType:
        """The network beside plain play, by decision."""
        return epoch_table(self.epoch_title, metrics)

    def predict(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported.

        Raises:
            OptionError: always.
        """
        raise OptionError(
            f"predict: {self.id} reads open hands, not observations; let it sit at a table: model.as_agent()"
        )

    def as_agent(self, deterministic: bool = True) -> NeuralAgent:
        """As `agent_for(game)`, for the game that it was made with."""
        return self.agent_for(self.game)  # type: ignore[return-value]

    def agent_for(self, game: Game, worlds: int = 10, open_hands: bool = False, seed: int = 0) -> NetworkAgent:
        """The network at a table of Texas 42 with any rules; see `NetworkAgent`."""
        policy = self.config.loss_mode == "policy"
        return NetworkAgent(game, self.policy, self.id, worlds, open_hands, policy, seed)


def open_network(file: str | Path, device: str = "cpu") -> Texas42Oracle:
    """The model of a checkpoint.

    Raises:
        CheckpointError: damaged, foreign, or of another algorithm.
    """
    found: Texas42Oracle = Texas42Oracle.load(file, device=device)
    return found
