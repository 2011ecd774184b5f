"""`RunningMoments`: mean and deviation of everything seen so far."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Self


class RunningMoments:
    """Count, mean and sum of squared distances (Chan et al. 1979), in float64."""

    def __init__(self, count: float = 0.0, mean: float = 0.0, squares: float = 0.0) -> None:
        self.count, self.mean, self.squares = count, mean, squares

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """From what `tensor` gave."""
        return cls(*tensor.tolist())

    def tensor(self) -> Tensor:
        """(3,) float64."""
        return torch.tensor([self.count, self.mean, self.squares], dtype=torch.float64)

    def update(self, values: Tensor) -> None:
        """Take more values in, of any shape."""
        more = values.numel()
        if not more:
            return
        wide = values.double()
        mean, squares = float(wide.mean()), float((wide - wide.mean()).square().sum())
        total, gap = self.count + more, mean - self.mean
        self.squares += squares + gap * gap * self.count * more / total
        self.mean += gap * more / total
        self.count = total

    @property
    def deviation(self) -> float:
        """Standard deviation, at least 1e-4; 1 before two values were seen."""
        return max((self.squares / self.count) ** 0.5, 1e-4) if self.count > 1 else 1.0
