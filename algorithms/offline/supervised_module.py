"""`SupervisedModule`: what every `LightningModule` of ours that learns from stored decisions has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.optim import Optimizer

from ludory.agents.networks.policy import Policy
from ludory.algorithms.running.position import Position
from ludory.errors import TrainingError


class Course(Protocol):
    """Who is told how the training goes."""

    position: Position

    def before_batch(self) -> bool:
        """Called where a run can be saved and resumed exactly; False ends the training there."""

    def after_batch(self, samples: int, loss: float) -> None:
        """A gradient step on so many decisions has been made."""

    def after_epoch(self, metrics: Mapping[str, float]) -> None:
        """An epoch is over, its validation included."""


class Batches:
    """An iterable that Lightning starts anew for every epoch."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return self._start()


class SupervisedModule(LightningModule):
    """Trains `policy` from the position of `course` on, and validates after each epoch.

    Subclasses write `training_batches` (from that position on), `validation_batches`, `samples_in`, `training_step`, `validation_step` and `metrics`.
    """

    def __init__(self, policy: Policy, optimizer: Optimizer, seed: int, has_validation: bool, course: Course) -> None:
        super().__init__()
        self.policy, self._optimizer, self._seed, self._course = policy, optimizer, seed, course
        self._has_validation = has_validation
        self._interrupted = False

    @abstractmethod
    def training_batches(self) -> Iterator[Any]:
        """What is left of the present epoch."""

    @abstractmethod
    def validation_batches(self) -> Iterator[Any]:
        """All that is held out, in stored order."""

    @abstractmethod
    def samples_in(self, batch: Any) -> int:
        """How many decisions a batch has."""

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """What the epoch that is over reports."""

    def configure_optimizers(self) -> Optimizer:
        """The optimiser that was given."""
        return self._optimizer

    def train_dataloader(self) -> Batches:
        """What is left of the present epoch."""
        return Batches(self.training_batches)

    def val_dataloader(self) -> Batches | list[Any]:
        """All that is held out."""
        return Batches(self.validation_batches) if self._has_validation else []

    def on_train_epoch_start(self) -> None:
        """Begin to measure."""
        self.policy.train()
        self._started, self._samples = perf_counter(), 0

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> int | None:
        """Let the course save or end the run; draws of a batch depend on its place alone, so that a resumed run repeats them."""
        ends = not self._course.before_batch()
        if self.trainer.strategy.reduce_boolean_decision(ends, all=False):
            self._interrupted = self.trainer.should_stop = True
            return -1  # Lightning's word for "no more batches in this epoch"
        position = self._course.position
        place = (self._seed, position.epoch, position.batch, self.global_rank)
        seed_draws(int(np.random.SeedSequence(place).generate_state(1)[0]), self.device)
        return None

    def finite(self, loss: Tensor, where: str) -> Tensor:
        """The loss.

        Raises:
            TrainingError: it is not finite; `where` says what was learnt from.
        """
        if not bool(torch.isfinite(loss)):
            position = self._course.position
            raise TrainingError(
                f"loss {loss.item()} in epoch {position.epoch + 1}, batch {position.batch + 1}, {where}: "
                "the weights have diverged; lower learning_rate, or scale large observations and returns; files saved before are whole"
            )
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Count."""
        samples = self.samples_in(batch) * self.trainer.world_size
        self._samples += samples
        self._course.position.batch += 1
        self._course.after_batch(samples, float(outputs["loss"]))

    def on_train_epoch_end(self) -> None:
        """Report the epoch, unless it was broken off."""
        if self._interrupted:
            return
        if not self._course.position.batch:
            raise TrainingError(
                f"no batch in an epoch: give fewer than {self.trainer.world_size} devices or a smaller batch_size"
            )
        rate = self._samples / (perf_counter() - self._started)
        self._course.after_epoch(self.metrics() | {"time/fps": rate})

    def over_processes(self, sums: Tensor) -> Tensor:
        """The sum over all processes."""
        found: Tensor = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        return found.cpu()


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed the generators that layers such as dropout draw from; `torch.manual_seed` does so for every device, in 4 milliseconds."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
