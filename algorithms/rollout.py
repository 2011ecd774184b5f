"""What a sampler hands to a learner: T decisions of B games side by side, time-major."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ludory.agents.networks.packed_linear import unpack

from .returns import Steps


class Rollout(NamedTuple):
    """T decisions of B columns. Bits stay bits until a minibatch is used."""

    observations: Tensor  # [T, B, bytes] uint8 bits, or [T, B, size] float32
    masks: Tensor  # [T, B, ceil(A / 8)] uint8 bits
    actions: Tensor  # [T, B, H] int64
    log_probs: Tensor  # [T, B, H] float32, of the behaviour policy
    values: Tensor  # [T, B] float32
    next_values: Tensor  # [T, B] float32, of the true successor
    rewards: Tensor  # [T, B] float32
    terminated: Tensor  # [T, B] bool
    truncated: Tensor  # [T, B] bool

    def steps(self) -> Steps:
        """What returns are computed from."""
        return Steps(self.rewards, self.values, self.next_values, self.terminated, self.truncated)


class Minibatch(NamedTuple):
    """m decisions in any order."""

    observations: Tensor  # [m, bytes] or [m, size]
    masks: Tensor  # [m, A] bool
    actions: Tensor  # [m, H]
    log_probs: Tensor  # [m, H]
    values: Tensor  # [m]
    advantages: Tensor  # [m]
    returns: Tensor  # [m]


def flat_columns(rollout: Rollout, advantages: Tensor, returns: Tensor) -> list[Tensor]:
    """The columns of a `Minibatch` over all T * B decisions; masks stay bits."""
    return [part.flatten(0, 1) for part in (*rollout[:5], advantages, returns)]


def minibatch(flat: Sequence[Tensor], rows: Tensor, num_actions: int) -> Minibatch:
    """Some rows of `flat_columns`."""
    observations, masks, *rest = (part[rows] for part in flat)
    return Minibatch(observations, unpack(masks, num_actions).bool(), *rest)


def minibatches(
    rollout: Rollout, advantages: Tensor, returns: Tensor, num_actions: int, size: int, generator: torch.Generator
) -> Iterator[Minibatch]:
    """All decisions once, shuffled, in batches of `size` (the last one may be smaller)."""
    flat = flat_columns(rollout, advantages, returns)
    for rows in torch.randperm(len(flat[0]), generator=generator, device=flat[0].device).split(size):
        yield minibatch(flat, rows, num_actions)
