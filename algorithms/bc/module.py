"""`BCModule`: imitation as a `LightningModule`: batches, loss, and the sums of what is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents.networks.policy import Policy
from ludory.data.trajectories import Sequences, TrajectoryDataset
from ludory.envs.game import Game
from ludory.errors import TrainingError

from .batches import Batch, Said, ask, distribution, first_samples, num_decisions, own_share, read_batches
from .config import BCConfig
from .loss import LossTerms, imitation_loss, weighted_mean
from .position import Position
from .scores import count_actions, prior_scores, score, uniform_scores
from .symmetry import rename
from .tally import means, score_means, tally, tally_size

VALIDATION_ROWS = 1024
"""Decisions of a validation batch."""


class Course(Protocol):
    """Who is told how the training goes."""

    position: Position

    def before_batch(self) -> bool:
        """Called where a run can be saved and resumed exactly; False ends the training there."""

    def after_batch(self, samples: int, loss: float) -> None:
        """A gradient step on so many decisions has been made."""

    def after_epoch(self, metrics: Mapping[str, float]) -> None:
        """An epoch is over, its validation included."""


class _Batches:
    """An iterable that Lightning starts anew for every epoch."""

    def __init__(self, start: Callable[[], Iterator[Batch]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Batch]:
        return self._start()


class BCModule(LightningModule):
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
        super().__init__()
        self._game, self.policy, self._optimizer, self._config = game, policy, optimizer, config
        self._training, self._validation, self._course = training, validation, course
        self._interrupted = False
        self._validated = self._no_sums()

    def configure_optimizers(self) -> Optimizer:
        """The optimiser that was given."""
        return self._optimizer

    def train_dataloader(self) -> _Batches:
        """What is left of the present epoch."""
        return _Batches(self._training_batches)

    def val_dataloader(self) -> _Batches | list[Batch]:
        """All validation games in stored order."""
        return [] if self._validation is None else _Batches(self._validation_batches)

    def _training_batches(self) -> Iterator[Batch]:
        config, position = self._config, self._course.position
        epoch = position.epoch if config.max_samples is None else 0
        batches = read_batches(self._training, config.batch_size, self.policy.recurrent, config.seed, epoch)
        batches = own_share(first_samples(batches, config.max_samples), self.global_rank, self.trainer.world_size)
        left: Iterator[Batch] = islice(batches, position.batch, None)
        if not config.augment:
            return left
        places = ((config.seed, position.epoch, batch, self.global_rank) for batch in count(position.batch))
        return (self._renamed(batch, place) for batch, place in zip(left, places, strict=False))

    def _renamed(self, batch: Batch, place: tuple[int, ...]) -> Batch:
        assert self._game.symmetry is not None
        symmetry, facts = self._game.symmetry(np.random.default_rng(place)), self._game.facts
        if isinstance(batch, Sequences):
            return batch._replace(decisions=rename(batch.decisions, symmetry, facts))
        return rename(batch, symmetry, facts)

    def _validation_batches(self) -> Iterator[Batch]:
        assert self._validation is not None
        batches = read_batches(self._validation, VALIDATION_ROWS, self.policy.recurrent)
        return islice(batches, self.global_rank, None, self.trainer.world_size)

    def on_train_epoch_start(self) -> None:
        """Begin to measure."""
        self.policy.train()
        self._started, self._samples = perf_counter(), 0

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> int | None:
        """Let the course save or end the run; draws of a batch depend on its place alone, so that a resumed run repeats them."""
        ends = not self._course.before_batch()
        if self.trainer.strategy.reduce_boolean_decision(ends, all=False):
            self._interrupted = self.trainer.should_stop = True
            return -1  # Lightning's word for "no more batches in this epoch"
        position = self._course.position
        place = (self._config.seed, position.epoch, position.batch, self.global_rank)
        seed_draws(int(np.random.SeedSequence(place).generate_state(1)[0]), self.device)
        return None

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The mean loss, with its gradient.

        Raises:
            TrainingError: it is not finite.
        """
        said, position = ask(self.policy, batch), self._course.position
        terms, sizes = self._loss(said), self.policy.head_sizes
        loss = weighted_mean(terms.total, said.weights)
        if not bool(torch.isfinite(loss)):
            raise TrainingError(
                f"loss {loss.item()} in epoch {position.epoch + 1}, batch {position.batch + 1}, games "
                f"{said.games.unique()[:10].tolist()}: the weights have diverged; lower learning_rate, or scale large "
                "observations and returns; files saved before are whole"
            )
        with torch.no_grad():
            scores = score(said.logits, said.masks, said.actions, sizes)
            position.sums = position.sums + tally(terms, scores, self._imitated_weights(said))
            if position.epoch == 0:
                position.counts = position.counts + count_actions(said.actions, self._imitated_weights(said), sizes)
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Count."""
        samples = num_decisions(batch) * self.trainer.world_size
        self._samples += samples
        self._course.position.batch += 1
        self._course.after_batch(samples, float(outputs["loss"]))

    def on_validation_epoch_start(self) -> None:
        """Begin the sums."""
        self.policy.eval()
        self._validated = self._no_sums()
        self._counts = self._over_processes(self._course.position.counts)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a batch to the sums."""
        said, sizes = ask(self.policy, batch), self.policy.head_sizes
        terms, counts = self._loss(said), self._counts.to(said.actions.device)
        scores = (
            score(said.logits, said.masks, said.actions, sizes),
            prior_scores(counts, said.masks, said.actions, sizes),
            uniform_scores(said.masks, sizes),
        )
        self._validated = self._validated + torch.stack(
            [tally(terms, one, self._imitated_weights(said)) for one in scores]
        )

    def on_train_epoch_end(self) -> None:
        """Report the epoch, unless it was broken off."""
        if self._interrupted:
            return
        if not self._course.position.batch:
            raise TrainingError(
                f"no batch in an epoch: give fewer than {self._config.devices} devices or a smaller batch_size"
            )
        heads = self._training.header.head_names
        metrics = means("train/", self._over_processes(self._course.position.sums), heads)
        metrics["time/fps"] = self._samples / (perf_counter() - self._started)
        if self._validation is not None:
            policy, prior, uniform = self._over_processes(self._validated)
            metrics |= means("val/", policy, heads) | score_means("val/prior_", prior)
            metrics |= score_means("val/uniform_", uniform)
        self._course.after_epoch(metrics)

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
        )

    def _imitated_weights(self, said: Said) -> Tensor:
        """(m,): what figures are averaged by; decisions that are not imitated do not count."""
        least = self._config.min_return
        return said.weights if least is None else said.weights * (said.returns >= least)

    def _no_sums(self) -> Tensor:
        """[3, 7 + H] for the policy, the class prior and uniform play; a process may get no validation batch."""
        return torch.zeros(3, tally_size(len(self.policy.head_sizes)), dtype=torch.float64)

    def _over_processes(self, sums: Tensor) -> Tensor:
        found: Tensor = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        return found.cpu()


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed the generators that layers such as dropout draw from; `torch.manual_seed` does so for every device, in 4 milliseconds."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
