"""`RunningMoments`: mean and deviation of everything seen so far, entry by entry."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Self


class RunningMoments:
    """Count, mean and sum of squared distances (Chan et al. 1979), in float64 on the CPU.

    Args:
        size: entries of a value; 0: values are numbers.
    """

    def __init__(self, size: int = 0) -> None:
        self.count = 0.0
        self.mean, self.squares = (torch.zeros(max(1, size), dtype=torch.float64) for _ in range(2))

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """From what `tensor` gave."""
        moments = cls(tensor.shape[1])
        moments.count, moments.mean, moments.squares = float(tensor[0, 0]), tensor[1].clone(), tensor[2].clone()
        return moments

    def tensor(self) -> Tensor:
        """(3, size) float64."""
        return torch.stack([torch.full_like(self.mean, self.count), self.mean, self.squares])

    def update(self, values: Tensor) -> None:
        """Take more values in, (..., size); of numbers, any shape."""
        wide = values.detach().double().cpu().reshape(-1, len(self.mean))
        if not len(wide):
            return
        mean, squares = wide.mean(0), (wide - wide.mean(0)).square().sum(0)
        total, gap = self.count + len(wide), mean - self.mean
        self.squares = self.squares + squares + gap * gap * self.count * len(wide) / total
        self.mean = self.mean + gap * len(wide) / total
        self.count = total

    @property
    def deviation(self) -> Tensor:
        """(size,) standard deviation, at least 1e-4; 1 before two values were seen."""
        if self.count < 2:
            return torch.ones_like(self.mean)
        return (self.squares / self.count).sqrt().clamp(min=1e-4)
