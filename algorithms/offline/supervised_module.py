"""`SupervisedModule`: the `LightningModule` of learners from stored decisions; `TrajectoryModule`: the one of learners from recorded games."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import STEP_OUTPUT
from torch import Tensor
from torch.optim import Optimizer
from typing_extensions import Self

from ludory.agents.networks.policy import Policy
from ludory.data import TrajectoryDataset
from ludory.envs.game import Game
from ludory.errors import TrainingError

from .batches import Batch, first_samples, num_decisions, own_share, read_batches, renamed_batches
from .config import OfflineConfig

VALIDATION_ROWS = 1024
"""Decisions of a validation batch."""


def _no_sums() -> Tensor:
    return torch.zeros((), dtype=torch.float64)


@dataclass(slots=True)
class Position:
    """How far a run is, between two batches; with weights and optimiser all that a resumed run needs."""

    epoch: int = 0
    """Finished epochs."""
    batch: int = 0
    """Finished batches of the current epoch."""
    best: float | None = None
    """Smallest validation loss so far."""
    stale: int = 0
    """Epochs since then."""
    sums: Tensor = field(default_factory=_no_sums)
    """Sums of the current epoch's training scores."""
    counts: Tensor = field(default_factory=_no_sums)
    """(A,) how often the training data take each value, counted in the first epoch."""

    def numbers(self) -> dict[str, Any]:
        """The part that goes into a checkpoint's header."""
        return {"epoch": self.epoch, "batch": self.batch, "best": self.best, "stale": self.stale}

    def tensors(self) -> dict[str, Tensor]:
        """The part that goes into a checkpoint's tensors."""
        return {"sums": self.sums, "counts": self.counts}

    def next_epoch(self, validation_loss: float | None) -> bool:
        """Start the next epoch; returns whether the validation loss of the last one is the smallest so far."""
        self.epoch, self.batch, self.sums = self.epoch + 1, 0, _no_sums()
        better = validation_loss is not None and (self.best is None or validation_loss < self.best)
        if better:
            self.best = validation_loss
        self.stale = 0 if better else self.stale + 1
        return better

    @classmethod
    def restored(cls, numbers: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """The position that returned these `numbers` and `tensors`."""
        return cls(**numbers, sums=tensors["sums"].clone(), counts=tensors["counts"].clone())


class Course(Protocol):
    """The learner that a module reports to."""

    position: Position

    def before_batch(self) -> bool:
        """Called where a run can be saved and resumed exactly; False ends the training."""

    def after_batch(self, samples: int, loss: float) -> None:
        """Called after a gradient step on so many decisions."""

    def after_epoch(self, metrics: Mapping[str, float]) -> None:
        """Called after an epoch and its validation."""


class Batches:
    """An iterable that Lightning restarts in every epoch."""

    def __init__(self, start: Callable[[], Iterator[Any]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return self._start()


class SupervisedModule(LightningModule):
    """Trains `policy` from the position of `course`, and validates after each epoch.

    Subclasses write `training_batches` (from that position), `validation_batches`, `samples_in`, `no_sums`, `training_step`, `validation_step` and
    `metrics`.
    """

    def __init__(self, policy: Policy, optimizer: Optimizer, seed: int, has_validation: bool, course: Course) -> None:
        super().__init__()
        self.policy, self._optimizer, self._seed, self._course = policy, optimizer, seed, course
        self._has_validation = has_validation
        self._interrupted = False
        self._validated: Any = None  # until the first validation

    @abstractmethod
    def training_batches(self) -> Iterator[Any]:
        """The rest of the current epoch."""

    @abstractmethod
    def validation_batches(self) -> Iterator[Any]:
        """All held-out decisions, in stored order."""

    # What a batch is, only the subclass knows, and Lightning passes it on as it is.
    @abstractmethod
    def samples_in(self, batch: Any) -> int:
        """Number of decisions in a batch."""

    @abstractmethod
    def no_sums(self) -> Any:
        """Validation sums of no batch; `validation_step` adds to `_validated`. A process may get no validation batch."""

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Figures of the finished epoch."""

    def configure_optimizers(self) -> Optimizer:
        """The optimiser of the learner."""
        return self._optimizer

    def train_dataloader(self) -> Batches:
        """The rest of the current epoch."""
        return Batches(self.training_batches)

    def val_dataloader(self) -> Batches | list[Any]:
        """All held-out decisions."""
        return Batches(self.validation_batches) if self._has_validation else []

    def on_train_epoch_start(self) -> None:
        """Start the clock."""
        self.policy.train()
        self._started, self._samples = perf_counter(), 0

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> int | None:
        """Let the course save or end the run; the draws of a batch depend on its position alone, so a resumed run repeats them."""
        ends = not self._course.before_batch()
        if self.trainer.strategy.reduce_boolean_decision(ends, all=False):
            self._interrupted = self.trainer.should_stop = True
            return -1  # Lightning's word for "no more batches in this epoch"
        position = self._course.position
        place = (self._seed, position.epoch, position.batch, self.global_rank)
        seed_draws(int(np.random.SeedSequence(place).generate_state(1)[0]), self.device)
        return None

    def on_validation_epoch_start(self) -> None:
        """Reset the sums."""
        self.policy.eval()
        self._validated = self.no_sums()

    def finite(self, loss: Tensor, where: str) -> Tensor:
        """Returns the loss.

        Raises:
            TrainingError: it is not finite; `where` names the data.
        """
        if not bool(torch.isfinite(loss)):
            position = self._course.position
            raise TrainingError(
                f"loss {loss.item()} in epoch {position.epoch + 1}, batch {position.batch + 1}, {where}: "
                "the weights have diverged; lower learning_rate, or scale large observations and returns; files saved before are whole"
            )
        return loss

    def on_train_batch_end(self, outputs: STEP_OUTPUT, batch: Any, batch_idx: int) -> None:
        """Count samples and batches."""
        assert isinstance(outputs, Mapping)
        samples = self.samples_in(batch) * self.trainer.world_size
        self._samples += samples
        self._course.position.batch += 1
        self._course.after_batch(samples, float(outputs["loss"]))

    def on_train_epoch_end(self) -> None:
        """Report the epoch, unless it was interrupted."""
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
        total: Tensor = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        return total.cpu()


class TrajectoryModule(SupervisedModule):
    """Learns from recorded games: from single decisions, or from whole games where `whole_games`, by default for networks with memory."""

    max_samples: int | None = None
    """Decisions to learn from in every epoch; None: all."""

    def __init__(
        self,
        game: Game,
        policy: Policy,
        optimizer: Optimizer,
        config: OfflineConfig,
        training: TrajectoryDataset,
        validation: TrajectoryDataset | None,
        course: Course,
    ) -> None:
        super().__init__(policy, optimizer, config.seed, validation is not None, course)
        self._game, self._config = game, config
        self._training, self._validation = training, validation
        self.whole_games = policy.recurrent

    def training_batches(self) -> Iterator[Batch]:
        """The rest of the current epoch."""
        config, position = self._config, self._course.position
        epoch = position.epoch if self.max_samples is None else 0  # the same decisions in every epoch
        batches = read_batches(self._training, config.batch_size, self.whole_games, config.seed, epoch)
        batches = own_share(first_samples(batches, self.max_samples), self.global_rank, self.trainer.world_size)
        left: Iterator[Batch] = islice(batches, position.batch, None)
        if not config.augment:
            return left
        place = config.seed, position.epoch
        return renamed_batches(left, self._game, place, position.batch, self.global_rank, self._training.layout)

    def validation_batches(self) -> Iterator[Batch]:
        """All validation games, in stored order."""
        assert self._validation is not None
        batches = read_batches(self._validation, VALIDATION_ROWS, self.whole_games)
        return islice(batches, self.global_rank, None, self.trainer.world_size)

    def samples_in(self, batch: Batch) -> int:
        """Number of decisions in a batch."""
        return num_decisions(batch)


def seed_draws(seed: int, device: torch.device) -> None:
    """Seed the generators of layers such as dropout; `torch.manual_seed` would seed all devices and take 4 milliseconds."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
