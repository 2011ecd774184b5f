"""PyTorch on the CPU, a batch split over threads: each runs a whole forward (and backward) pass on its rows.

Splitting single operations, as PyTorch does by itself, gains little for the small networks of games: on two cores 1.1 to 1.4 times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.envs.parallel import part_count, run_parts

from .rollout import Minibatch

FORWARD_ROWS, BACKWARD_ROWS = 256, 512
"""Least rows of a thread: passing them on costs about 0.1 milliseconds."""


def forward(policy: Policy, observation: Tensor) -> PolicyOutput:
    """`policy(observation)` without gradients."""

    def part(start: int, stop: int) -> PolicyOutput:
        with torch.no_grad():
            return policy(observation[start:stop])  # type: ignore[no-any-return]

    if observation.device.type != "cpu" or part_count(len(observation), rows_per_thread=FORWARD_ROWS) < 2:
        return part(0, len(observation))
    with _whole_operations():
        parts = run_parts(part, len(observation), rows_per_thread=FORWARD_ROWS)
    logits, values, memories = zip(*parts, strict=True)
    memory = None if memories[0] is None else torch.cat(memories)
    return PolicyOutput(torch.cat(logits), torch.cat(values), memory)


def backward(losses: Callable[[Minibatch], Sequence[Tensor]], batch: Minibatch, parameters: Sequence[Tensor]) -> Tensor:
    """Write the gradient of the first loss to `parameters`; gives all losses, (K,), without gradients.

    losses: means over the rows of a batch, the one to differentiate first.
    """
    rows = len(batch.actions)

    def part(start: int, stop: int) -> tuple[tuple[Tensor, ...], Tensor]:
        share = (stop - start) / rows
        with torch.enable_grad():
            found = losses(Minibatch(*(column[start:stop] for column in batch)))
            gradients = torch.autograd.grad(found[0] * share, parameters)
        return gradients, torch.stack([loss.detach() for loss in found]) * share

    if batch.actions.device.type != "cpu" or part_count(rows, rows_per_thread=BACKWARD_ROWS) < 2:
        parts = [part(0, rows)]
    else:
        with _whole_operations():
            parts = run_parts(part, rows, rows_per_thread=BACKWARD_ROWS)
    for index, parameter in enumerate(parameters):
        total = sum((gradients[index] for gradients, _ in parts[1:]), start=parts[0][0][index])
        parameter.grad = total.contiguous()  # fused optimisers walk parameter and gradient side by side in memory
    return sum((found for _, found in parts[1:]), start=parts[0][1])


@contextmanager
def _whole_operations() -> Iterator[None]:
    """Keep PyTorch from splitting operations while the batch itself is split."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
