"""`Position`: how far a run is; with weights and optimiser all that a resumed run needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


def _nothing() -> Tensor:
    return torch.zeros((), dtype=torch.float64)


@dataclass(slots=True)
class Position:
    """A place between two batches."""

    epoch: int = 0
    """Epochs that are over."""
    batch: int = 0
    """Batches of the present epoch that are over."""
    best: float | None = None
    """Least validation loss so far."""
    stale: int = 0
    """Epochs since then."""
    sums: Tensor = field(default_factory=_nothing)
    """Of the present epoch's training scores, see `tally`."""
    counts: Tensor = field(default_factory=_nothing)
    """(A,) how often each value was taken in the training data, counted in the first epoch."""

    def numbers(self) -> dict[str, Any]:
        """For a checkpoint's header."""
        return {"epoch": self.epoch, "batch": self.batch, "best": self.best, "stale": self.stale}

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        return {"sums": self.sums, "counts": self.counts}

    def next_epoch(self, validation_loss: float | None) -> bool:
        """Go on to the next epoch; True if the validation loss of the one before is the least so far."""
        self.epoch, self.batch, self.sums = self.epoch + 1, 0, _nothing()
        better = validation_loss is not None and (self.best is None or validation_loss < self.best)
        if better:
            self.best = validation_loss
        self.stale = 0 if better else self.stale + 1
        return better


def restored(numbers: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Position:
    """What `numbers` and `tensors` gave."""
    return Position(**numbers, sums=tensors["sums"].clone(), counts=tensors["counts"].clone())
