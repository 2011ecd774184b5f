"""Distributions over actions: independent categorical heads under a legal mask, or independent normal numbers.

Logits (..., A) and masks (..., A) hold the heads one after another, A = sum of sizes. Actions are (..., H).
Log-softmax is taken in float32 or wider, whatever the network's dtype; illegal values have probability 0 and no gradient.
"""

from __future__ import annotations

import math
from functools import cached_property

import torch
from torch import Tensor


class MaskedHeads:
    """Factorised masked categorical distribution.

    Args:
        logits: (..., A), any float dtype.
        mask: (..., A) bool, at least one legal value per head.
        sizes: values per head.
    """

    def __init__(self, logits: Tensor, mask: Tensor, sizes: tuple[int, ...]) -> None:
        self.sizes, self.mask = sizes, mask
        self.logits = logits if logits.dtype == torch.float64 else logits.float()

    @cached_property
    def _log_p(self) -> list[Tensor]:
        legal = self.logits.masked_fill(~self.mask, -torch.inf)
        return [part.log_softmax(-1) for part in legal.split(self.sizes, -1)]

    def log_prob(self, actions: Tensor) -> Tensor:
        """(..., H): log-probability of each head's value; their sum is the joint one."""
        parts = [log_p.gather(-1, actions[..., head : head + 1].long()) for head, log_p in enumerate(self._log_p)]
        return torch.cat(parts, -1)

    def entropy(self) -> Tensor:
        """(..., H): entropy of each head in nats."""
        return torch.stack([-_times(log_p.exp(), log_p).sum(-1) for log_p in self._log_p], -1)

    def normalised_entropy(self) -> Tensor:
        """(..., H): entropy divided by the log of the number of legal values, 0 where only one is legal."""
        legal = torch.stack([part.sum(-1) for part in self.mask.split(self.sizes, -1)], -1)
        entropy = self.entropy()
        return torch.where(legal > 1, entropy / legal.clamp(min=2).to(entropy.dtype).log(), 0)

    def kl_from(self, teacher: MaskedHeads) -> Tensor:
        """(..., H): KL(teacher to self) of each head, teacher first; both under the same mask."""
        pairs = zip(teacher._log_p, self._log_p, strict=True)
        return torch.stack([_kl(teacher_log_p, log_p) for teacher_log_p, log_p in pairs], -1)

    def sample(
        self, generator: torch.Generator | None = None, every: int | None = None, mine: slice = slice(None)
    ) -> Tensor:
        """(..., H) int64: one sample, from one tensor of exponential noise for all heads (argmax of p / noise).

        every, mine: draw as for so many rows, of which these are `mine`.
        """
        log_p = torch.cat(self._log_p, -1)
        noise = _rows_like(log_p, every).exponential_(generator=generator)[mine].log_()
        return torch.stack([part.argmax(-1) for part in (log_p - noise).split(self.sizes, -1)], -1)

    def mode(self) -> Tensor:
        """(..., H) int64: the most probable value of each head, the first on ties."""
        return torch.stack([log_p.argmax(-1) for log_p in self._log_p], -1)


class DiagonalGaussian:
    """Independent normal distributions of the D numbers of a continuous action, each with standard deviations that do not depend on the observation.

    Args:
        means: (..., D), any float dtype.
        log_std: (D,) logarithms of the standard deviations.
    """

    def __init__(self, means: Tensor, log_std: Tensor) -> None:
        self.means, self.log_std = means.float(), log_std.float()

    def log_prob(self, actions: Tensor) -> Tensor:
        """(..., D): log-density of each number; their sum is the joint one."""
        z = (actions - self.means) * (-self.log_std).exp()
        return -0.5 * (z * z + math.log(2 * math.pi)) - self.log_std

    def entropy(self) -> Tensor:
        """(..., D): differential entropy of each number in nats."""
        return (0.5 * math.log(2 * math.pi * math.e) + self.log_std).expand_as(self.means)

    def kl_from(self, teacher: DiagonalGaussian) -> Tensor:
        """(..., D): KL(teacher to self) of each number, teacher first."""
        ratio = (2 * (teacher.log_std - self.log_std)).exp()
        gap = (teacher.means - self.means) * (-self.log_std).exp()
        return 0.5 * (ratio + gap * gap - 1) + self.log_std - teacher.log_std

    def sample(
        self, generator: torch.Generator | None = None, every: int | None = None, mine: slice = slice(None)
    ) -> Tensor:
        """(..., D) float32: one draw, not clipped to any bounds; `every` and `mine` as in `MaskedHeads.sample`."""
        noise = _rows_like(self.means, every).normal_(generator=generator)[mine]
        return self.means + self.log_std.exp() * noise

    def mode(self) -> Tensor:
        """(..., D) float32: the means."""
        return self.means


def _rows_like(part: Tensor, rows: int | None) -> Tensor:
    """An empty tensor as `part`, with another number of rows."""
    return torch.empty_like(part) if rows is None else part.new_empty(rows, *part.shape[1:])


def _kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Sum of p (log p - log q) over the last axis; differences of log-softmaxes, selected before multiplying."""
    p = log_p.exp()
    return (p * torch.where(p > 0, log_p - log_q, 0)).sum(-1)


def _times(p: Tensor, log_p: Tensor) -> Tensor:
    """P log p with 0 where p is 0; selected before multiplying, so that gradients stay finite."""
    return p * torch.where(p > 0, log_p, 0)
