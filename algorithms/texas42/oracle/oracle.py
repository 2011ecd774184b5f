"""The learner from the oracle of Texas 42."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from rich.console import RenderableType

from ludory.agents.networks.build import PolicySpec
from ludory.agents.networks.policies.domino import DominoTransformer
from ludory.agents.neural import NeuralAgent
from ludory.agents.texas42.play.network import NetworkAgent
from ludory.algorithms.offline.supervised import SupervisedAlgorithm
from ludory.envs.game import Game
from ludory.errors import DataError, OptionError

from .config import Texas42OracleConfig
from .data import OracleData, read_split
from .module import OracleModule
from .report import epoch_table

GAME = "Texas42Play-v0"


class Texas42Oracle(SupervisedAlgorithm):
    """A network that learns exact values with open hands; see `Texas42OracleConfig` for its options.

    It reads tokens of states instead of observations, so it has no `predict`; as an agent it draws worlds and averages.
    """

    id = "texas42_oracle-v1"
    config_class: ClassVar[type[Texas42OracleConfig]] = Texas42OracleConfig
    config: Texas42OracleConfig
    policy: DominoTransformer

    def __init__(self, policy: str | PolicySpec = "auto", env: Any = GAME, **config: Any) -> None:
        super().__init__("domino" if policy == "auto" else policy, env, **config)
        if not isinstance(self.policy, DominoTransformer):
            raise OptionError(
                f"policy {self.policy_spec.id!r}: {self.id} learns with 'domino', e.g. domino(width=64, num_layers=2)"
            )

    def _open_source(self) -> None:
        self._seen_before: int | None = None
        if self.config.dataset is not None:
            self.training_data, self.validation_data  # noqa: B018  # opened and checked

    @cached_property
    def training_data(self) -> OracleData:
        """The training split.

        Raises:
            DataError: damaged, foreign or empty; or another number of states than the run began with.
        """
        data = self._read("train")
        if self._seen_before not in (None, len(data.state)):
            raise DataError(
                f"{self.config.dataset}: the run began on {self._seen_before} states, the training split now has {len(data.state)}; "
                "a run goes on with the data that it began with: begin a new one with init_from="
            )
        return data

    @cached_property
    def validation_data(self) -> OracleData:
        """The validation split."""
        return self._read("val")

    def _read(self, split: Any) -> OracleData:
        config = self.config
        if config.dataset is None:
            raise OptionError(
                f"{self.id} needs dataset=: a folder that `ludory texas42 labels` or `generate` has filled"
            )
        return read_split(config.dataset, split, config.per_decision, config.sampler_seed)

    def make_module(self) -> OracleModule:
        """What Lightning trains."""
        return OracleModule(self.policy, self.optimizer, self.config, self.training_data, self.validation_data, self)

    @property
    def num_samples(self) -> int:
        """States of an epoch."""
        return len(self.training_data.state)

    @property
    def has_validation(self) -> bool:
        """True."""
        return True

    def learning_rate_at(self, done: float) -> float:
        """Up at first, then along a half cosine."""
        first, last, warmup = self.config.learning_rate, self.config.final_learning_rate, self.config.warmup
        if done < warmup:
            return first * max(done / warmup, 0.01)
        return first if last is None else last + (first - last) * 0.5 * (1 + math.cos(math.pi * done))

    def epoch_report(self, metrics: Mapping[str, float]) -> RenderableType:
        """The network beside plain play, by decision."""
        return epoch_table(self.position.epoch, self.config.num_epochs, metrics)

    def _source_header(self) -> dict[str, Any]:
        states = len(self.training_data.state) if "training_data" in self.__dict__ else self._seen_before
        return super()._source_header() | {"data": states}

    def _restore_source(self, header: Mapping[str, Any], tensors: Mapping[str, Any]) -> bool:
        self._seen_before = header["data"]
        return super()._restore_source(header, tensors)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """Not for this network.

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


def open_network(file: Any, device: str = "cpu") -> Texas42Oracle:
    """The model of a checkpoint.

    Raises:
        CheckpointError: damaged, foreign, or of another algorithm.
    """
    found: Texas42Oracle = Texas42Oracle.load(file, device=device)
    return found
