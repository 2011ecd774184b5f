"""`Texas42Oracle`: learns exact values of Texas 42 with open hands; `OracleModule`: the learning as a `LightningModule`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
import torch
from rich.console import RenderableType
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents import NeuralAgent, PolicySpec
from ludory.agents.texas42.networks.open_hands import OpenHandNetwork, OpenOdds
from ludory.agents.texas42.play.network import NetworkAgent
from ludory.algorithms import Course, SupervisedAlgorithm, SupervisedModule
from ludory.algorithms.offline.batches import own_share
from ludory.envs import EnvLike, Game
from ludory.errors import OptionError

from .config import Texas42OracleConfig
from .data import OracleBatch, OracleData, read_split, shuffled_batches, stored_batches
from .fresh import fresh_states, states_of_deals
from .loss import oracle_loss
from .tally import PLAYERS, ROWS, OracleTally, added, epoch_table, no_tally, scores, tally


class OracleModule(SupervisedModule):
    """Trains `policy` on `training`, or on new states in every epoch, from the position of `course`, and validates after each epoch."""

    policy: OpenHandNetwork

    def __init__(
        self,
        policy: OpenHandNetwork,
        optimizer: Optimizer,
        config: Texas42OracleConfig,
        training: OracleData | None,
        validation: OracleData,
        course: Course,
    ) -> None:
        super().__init__(policy, optimizer, config.seed, True, course)
        self._config, self._training, self._validation = config, training, validation

    def training_batches(self) -> Iterator[OracleBatch]:
        """The rest of the current epoch."""
        config, position = self._config, self._course.position
        data, weights = self._training, None
        if data is None:
            data = fresh_states(config.fresh_states, (config.seed, position.epoch))
            weights = np.ones(len(data.state), np.float32)
        batches = shuffled_batches(
            data,
            config.batch_size,
            self.policy.tokens_version,
            config.seed,
            position.epoch,
            position.batch * self.trainer.world_size,
            weights,
        )
        return own_share(batches, self.global_rank, self.trainer.world_size)

    def validation_batches(self) -> Iterator[OracleBatch]:
        """All validation states in stored order."""
        batches = stored_batches(self._validation, ROWS, self.policy.tokens_version)
        return islice(batches, self.global_rank, None, self.trainer.world_size)

    def samples_in(self, batch: OracleBatch) -> int:
        """Number of states in a batch."""
        return len(batch.value)

    def training_step(self, batch: OracleBatch, batch_idx: int) -> Tensor:
        """The mean loss, with its gradient.

        Raises:
            TrainingError: it is not finite.
        """
        loss, _, _ = self._learn(batch)
        position = self._course.position
        with torch.no_grad():
            total = torch.stack(
                [loss.double() * len(batch.value), torch.tensor(float(len(batch.value)), device=loss.device)]
            )
            position.sums = position.sums + total.cpu()
        return self.finite(loss, f"{len(batch.value)} states")

    def _learn(self, batch: OracleBatch) -> tuple[Tensor, Tensor, Tensor]:
        config, said = self._config, self.policy(batch.tokens, batch.mask, batch.player)
        settings = config.loss_mode, config.temperature, config.value_coef
        odds = said.odds if isinstance(said, OpenOdds) else None
        each = oracle_loss(said.q, said.value, batch.q, batch.value, batch.legal, *settings, odds)
        return (each * batch.weights).mean(), said.q, said.value

    def no_sums(self) -> tuple[OracleTally, Tensor]:
        """The tally, and [2] the sum of losses and the number of states."""
        return no_tally(), torch.zeros(2, dtype=torch.float64)

    def validation_step(self, batch: OracleBatch, batch_idx: int) -> None:
        """Add a batch to the sums."""
        loss, q, value = self._learn(batch)
        number, (counted, losses) = len(batch.value), self._validated
        losses = losses + torch.tensor([float(loss) * number, number], dtype=torch.float64)
        self._validated = added(counted, tally(q, value, batch)), losses

    def metrics(self) -> dict[str, float]:
        """Losses, scores of the network, and those of plain play."""
        trained = self.over_processes(self._course.position.sums)
        held_out = self.over_processes(self._validated[1])
        counted = OracleTally(*(self.over_processes(part) for part in self._validated[0]))
        found: dict[str, Any] = {
            "train/loss": float(trained[0] / trained[1]),
            "val/loss": float(held_out[0] / held_out[1]),
        }
        for number, player in enumerate(PLAYERS):
            prefix = "val/" if player == "network" else f"val/{player}_"
            found |= {prefix + name: score for name, score in scores(counted, number)[0].items()}
            for decision, one in enumerate(scores(counted, number, "decision")):
                found |= {f"{prefix}{name}_{decision}": one[name] for name in ("q_gap", "zero_regret") if one}
        return found


GAME = "Texas42Play-v0"
SCORED = 1 << 32
"""In the seed of fresh states that scores are of, in place of an epoch."""


class Texas42Oracle(SupervisedAlgorithm):
    """A network that learns exact values with open hands, with the options of `Texas42OracleConfig`.

    It reads tokens of states instead of observations, so it has no `predict`; as an agent it draws worlds and averages.
    """

    id = "texas42_oracle-v1"
    config_class: ClassVar[type[Texas42OracleConfig]] = Texas42OracleConfig
    config: Texas42OracleConfig
    policy: OpenHandNetwork

    def __init__(self, policy: str | PolicySpec = "auto", env: EnvLike = GAME, **config: Any) -> None:
        super().__init__("domino_mlp" if policy == "auto" else policy, env, **config)
        if not isinstance(self.policy, OpenHandNetwork):
            raise OptionError(
                f"policy {self.policy_spec.id!r}: {self.id} learns with 'domino_mlp' or 'domino', e.g. domino_mlp(hidden=(256, 256))"
            )

    def data_size(self, data: OracleData) -> int:
        """Number of states."""
        return len(data.state)

    def read_split(self, name: Literal["train", "val"]) -> OracleData:
        """The split as `OracleData`."""
        config = self.config
        if config.dataset is None:
            return states_of_deals(config.fresh_deals, (config.seed, SCORED))
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
        stored = None if self.config.dataset is None else self.training_data
        return OracleModule(self.policy, self.optimizer, self.config, stored, self.validation_data, self)

    @property
    def num_samples(self) -> int:
        """States of an epoch."""
        return self.config.fresh_states if self.config.dataset is None else len(self.training_data.state)

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
