"""`OracleModule`: learning from the oracle as a `LightningModule`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents.texas42.networks.domino import DominoTransformer
from ludory.algorithms import Course, SupervisedModule
from ludory.algorithms.offline.batches import own_share

from .config import Texas42OracleConfig
from .data import OracleBatch, OracleData, shuffled_batches, stored_batches
from .loss import oracle_loss
from .tally import PLAYERS, ROWS, OracleTally, added, no_tally, scores, tally


class OracleModule(SupervisedModule):
    """Trains `policy` on `training` from the position of `course`, and validates after each epoch."""

    policy: DominoTransformer

    def __init__(
        self,
        policy: DominoTransformer,
        optimizer: Optimizer,
        config: Texas42OracleConfig,
        training: OracleData,
        validation: OracleData,
        course: Course,
    ) -> None:
        super().__init__(policy, optimizer, config.seed, True, course)
        self._config, self._training, self._validation = config, training, validation

    def training_batches(self) -> Iterator[OracleBatch]:
        """The rest of the current epoch."""
        config, position = self._config, self._course.position
        batches = shuffled_batches(
            self._training,
            config.batch_size,
            self.policy.tokens_version,
            config.seed,
            position.epoch,
            position.batch * self.trainer.world_size,
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
        each = oracle_loss(said.q, said.value, batch.q, batch.value, batch.legal, *settings)
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
