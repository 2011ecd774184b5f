"""`BCModule`: imitation as a `LightningModule`: batches, loss, and the sums of what is reported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents.networks.policy import Policy
from ludory.algorithms.offline.batches import (
    Batch,
    Said,
    ask,
    distribution,
    first_samples,
    num_decisions,
    own_share,
    read_batches,
)
from ludory.algorithms.offline.supervised_module import Course, SupervisedModule
from ludory.algorithms.offline.symmetry_augmentation import renamed_batches
from ludory.data.columns import USED
from ludory.data.trajectories import TrajectoryDataset
from ludory.envs.game import Game

from .config import BCConfig
from .loss import LossTerms, imitation_loss, weighted_mean
from .scores import count_actions, prior_scores, score, uniform_scores
from .tally import full_tally, means, score_means, tally, tally_size

VALIDATION_ROWS = 1024
"""Decisions of a validation batch."""


class BCModule(SupervisedModule):
    """Trains `policy` on `training`, from the position of `course` on, and validates after each epoch."""

    def __init__(
        self,
        game: Game,
        policy: Policy,
        optimizer: Optimizer,
        config: BCConfig,
        training: TrajectoryDataset,
        validation: TrajectoryDataset | None,
        course: Course,
    ) -> None:
        super().__init__(policy, optimizer, config.seed, validation is not None, course)
        self._game, self._config = game, config
        self._training, self._validation = training, validation
        self._validated = self._no_sums()
        course.position.sums = full_tally(course.position.sums, len(policy.head_sizes))

    def training_batches(self) -> Iterator[Batch]:
        """What is left of the present epoch."""
        config, position = self._config, self._course.position
        epoch = position.epoch if config.max_samples is None else 0
        batches = read_batches(self._training, config.batch_size, self.policy.recurrent, config.seed, epoch)
        batches = own_share(first_samples(batches, config.max_samples), self.global_rank, self.trainer.world_size)
        left: Iterator[Batch] = islice(batches, position.batch, None)
        if not config.augment:
            return left
        place = config.seed, position.epoch
        return renamed_batches(left, self._game, place, position.batch, self.global_rank, self._training.layout)

    def validation_batches(self) -> Iterator[Batch]:
        """All validation games in stored order."""
        assert self._validation is not None
        batches = read_batches(self._validation, VALIDATION_ROWS, self.policy.recurrent)
        return islice(batches, self.global_rank, None, self.trainer.world_size)

    def samples_in(self, batch: Batch) -> int:
        """How many decisions a batch has."""
        return num_decisions(batch)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The mean loss, with its gradient.

        Raises:
            TrainingError: it is not finite.
        """
        said, position = ask(self.policy, batch), self._course.position
        terms, sizes = self._loss(said), self.policy.head_sizes
        loss = weighted_mean(terms.total, said.weights)
        self.finite(loss, f"games {said.games.unique()[:10].tolist()}")
        with torch.no_grad():
            used, weights = self._used(said), self._imitated_weights(said)
            scores = score(said.logits, said.masks, said.actions, sizes, used)
            position.sums = position.sums + tally(terms, scores, weights)
            if position.epoch == 0:
                position.counts = position.counts + count_actions(said.actions, weights[:, None] * used, sizes)
        return loss

    def on_validation_epoch_start(self) -> None:
        """Begin the sums."""
        self.policy.eval()
        self._validated = self._no_sums()
        self._counts = self.over_processes(self._course.position.counts)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch to the sums."""
        said, sizes = ask(self.policy, batch), self.policy.head_sizes
        terms, counts, used = self._loss(said), self._counts.to(said.actions.device), self._used(said)
        scores = (
            score(said.logits, said.masks, said.actions, sizes, used),
            prior_scores(counts, said.masks, said.actions, sizes, used),
            uniform_scores(said.masks, sizes, used),
        )
        self._validated = self._validated + torch.stack(
            [tally(terms, one, self._imitated_weights(said)) for one in scores]
        )

    def metrics(self) -> dict[str, float]:
        """Scores on training and validation games."""
        heads = self._training.header.head_names
        metrics = means("train/", self.over_processes(self._course.position.sums), heads)
        if self._validation is not None:
            policy, prior, uniform = self.over_processes(self._validated)
            metrics |= means("val/", policy, heads) | score_means("val/prior_", prior)
            metrics |= score_means("val/uniform_", uniform)
        return metrics

    def _loss(self, said: Said) -> LossTerms:
        config = self._config
        return imitation_loss(
            distribution(self.policy, said),
            said.values,
            said.actions,
            said.returns,
            label_smoothing=config.label_smoothing,
            value_coef=config.value_coef,
            entropy_coef=config.entropy_coef,
            imitated=None if config.min_return is None else said.returns >= config.min_return,
            used=self._used(said),
        )

    def _used(self, said: Said) -> Tensor:
        """(m, H) bool: heads that are imitated, those that had an effect where the recording says so."""
        column = self._training.layout.get(USED)
        return torch.ones_like(said.actions, dtype=torch.bool) if column is None else said.extras[:, column] > 0

    def _imitated_weights(self, said: Said) -> Tensor:
        """(m,): what figures are averaged by; decisions that are not imitated, or had no effect, do not count."""
        least, weights = self._config.min_return, said.weights * self._used(said).any(-1)
        return weights if least is None else weights * (said.returns >= least)

    def _no_sums(self) -> Tensor:
        """[3, 7 + 2 H] for the policy, the class prior and uniform play; a process may get no validation batch."""
        return torch.zeros(3, tally_size(len(self.policy.head_sizes)), dtype=torch.float64)
