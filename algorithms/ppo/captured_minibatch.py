"""`CapturedMinibatch`: a gradient step of PPO on fixed tensors, so that it is one CUDA graph on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ludory.envs.engine.captured import Captured

from .loss import Coefficients

if TYPE_CHECKING:
    from .torch_update import Columns, TorchUpdate

MOST_SHAPES = 4
"""Shapes of minibatches that are captured; others, such as the last one of a pass, run step by step."""


class CapturedMinibatches:
    """Forward pass, loss, gradient, clipping and a step of Adam, a graph for each shape of minibatch; kept from iteration to iteration."""

    def __init__(self) -> None:
        self._by_shape: dict[tuple[object, ...], _Minibatch] = {}
        self._where: list[int] = []

    def learn(self, update: TorchUpdate, batch: Columns) -> tuple[Tensor, Tensor] | None:
        """Take a step on `batch`; returns the losses and the gradient's norm before clipping. None: this one is not captured."""
        where = [part.data_ptr() for part in _read_in_place(update)]
        if where != self._where:  # weights or moments were replaced, by `set_parameters` or Adam's first step
            self._by_shape, self._where = {}, where
        shape = tuple((name, part.shape, part.dtype) for name, part in batch.items())
        if shape not in self._by_shape:
            if len(self._by_shape) >= MOST_SHAPES:
                return None
            self._by_shape[shape] = _Minibatch(update, batch)
        return self._by_shape[shape].learn(update, batch)


def _read_in_place(update: TorchUpdate) -> Iterator[Tensor]:
    """Weights, moments and learning rates, which a graph finds where they were when it was captured."""
    yield from update.parameters
    for moments in update.optimizer.state.values():
        yield from (part for part in moments.values() if isinstance(part, Tensor))
    yield from (group["lr"] for group in update.optimizer.param_groups if isinstance(group["lr"], Tensor))


class _Minibatch:
    """Fixed tensors of a minibatch, and the work on them."""

    def __init__(self, update: TorchUpdate, batch: Columns) -> None:
        self._update = update
        self._batch = {name: torch.empty_like(part) for name, part in batch.items()}
        where = update.parameters[0].device
        # these change from iteration to iteration: a graph reads them where they are
        self._changing = torch.zeros(3, device=where)
        self._losses: Tensor | None = None
        self._norm = torch.zeros((), device=where)
        self._run = Captured(self._step, where, name="learning")

    def learn(self, update: TorchUpdate, batch: Columns) -> tuple[Tensor, Tensor]:
        for name, part in batch.items():
            self._batch[name].copy_(part)
        for place, value in enumerate((update.ent_coef, update.kl_coef, update.value_scale)):
            self._changing[place].fill_(value)
        self._update = update
        self._run()
        assert self._losses is not None
        return self._losses.clone(), self._norm.clone()

    def _step(self) -> None:
        update, batch = self._update, self._batch
        ent_coef, kl_coef, value_scale = self._changing
        weights = Coefficients(update.config.clip_range, update.config.vf_coef, ent_coef, kl_coef, value_scale)
        losses = update.backward(batch, weights)
        if self._losses is None:
            self._losses = torch.empty_like(losses)
        self._losses.copy_(losses)
        self._norm.copy_(update.clipped_step())
