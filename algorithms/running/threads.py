"""PyTorch on the CPU, a batch split over threads: each runs a whole forward (and backward) pass on its rows.

PyTorch's own splitting of single operations gains little for the small networks of games: a factor of 1.1 to 1.4 on two cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ludory.agents.networks.fast.choice import ROWS, fastest
from ludory.agents.networks.policy import Policy, PolicyOutput
from ludory.envs.engine.parallel import part_count, run_parts

FORWARD_ROWS, BACKWARD_ROWS = 256, 512
"""Fewest rows per thread: starting a thread's work costs about 0.1 milliseconds."""
SET = 0.2
"""Share of the bits that are set in rows that are made up to measure with; in Hanabi as many differ between rows."""


def precisions(device: torch.device) -> tuple[str, ...]:
    """What `precision="auto"` can mean on a device: "bf16" on CUDA; "float32" on a CPU, and "bf16" if it has units for that."""
    if device.type == "cuda":
        return ("bf16",) if torch.cuda.is_bf16_supported() else ("float32",)
    # versions of PyTorch that cannot say so are not asked
    has: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return ("float32", "bf16") if has.get("amx_bf16") or has.get("avx512_bf16") else ("float32",)


def suited_precision(policy: Policy, length: int, rows: int) -> str:
    """The one of `precisions` in which PyTorch takes less time for a forward and a backward pass over a minibatch.

    Args:
        policy: the network.
        length: decisions of a sequence, for networks with memory.
        rows: decisions of the minibatch.
    """
    parameters = list(policy.parameters())
    device, spec = parameters[0].device, policy.observation
    choices = precisions(device)
    if len(choices) == 1:
        return choices[0]
    length = length if policy.recurrent else 1
    shape = length, max(1, min(rows, ROWS) // length)
    draw = torch.Generator().manual_seed(0)
    seen = torch.rand(*shape, spec.size, generator=draw)
    if spec.bits:
        seen = torch.from_numpy(np.packbits((seen < SET).numpy(), axis=-1))
    seats = torch.zeros(shape, dtype=torch.long)
    rest = (torch.full((*shape, policy.players), sum(policy.head_sizes)),) if policy.uses_previous else ()

    def passes(precision: str) -> None:
        with torch.enable_grad(), precise(device, precision):
            output = policy.unroll(seen, None, torch.zeros(shape, dtype=torch.bool), seats, *rest)
        loss = output.logits.float().square().mean() + output.values.float().square().mean()
        torch.autograd.grad(loss, parameters, allow_unused=True)

    sizes = [tuple(parameter.shape) for parameter in parameters]
    subject = f"passes, {policy.id} {sizes}, {shape[1]} sequences of {length}"
    return fastest(subject, {choice: partial(passes, choice) for choice in choices})


def precise(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Context in which networks compute with `precision`: "float32", or "bf16" for matrix products in bfloat16.

    What is cast is not kept: all threads would share it, and sums of gradients would depend on which of them was first.
    """
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=False) if precision == "bf16" else nullcontext()


def forward(
    policy: Policy,
    observation: Tensor,
    memory: Tensor | None = None,
    seats: Tensor | None = None,
    previous: Tensor | None = None,
    precision: str = "float32",
) -> PolicyOutput:
    """`policy(observation, memory, seats)`, with `previous` if given, without gradients, in float32."""
    columns = (observation, memory, seats) if previous is None else (observation, memory, seats, previous)

    def part(start: int, stop: int) -> PolicyOutput:
        with torch.no_grad(), precise(observation.device, precision):
            rows = (None if column is None else column[start:stop] for column in columns)
            output: PolicyOutput = policy(*rows)
        return PolicyOutput(output.logits.float(), output.values.float(), output.memory)

    if observation.device.type != "cpu" or part_count(len(observation), rows_per_thread=FORWARD_ROWS) < 2:
        return part(0, len(observation))
    with one_thread():
        parts = run_parts(part, len(observation), rows_per_thread=FORWARD_ROWS)
    logits, values, memories = zip(*parts, strict=True)
    return PolicyOutput(torch.cat(logits), torch.cat(values), None if memories[0] is None else torch.cat(memories))


def backward(
    losses: Callable[[int, int], Sequence[Tensor]],
    count: int,
    parameters: Sequence[Tensor],
    rows_per_thread: int = BACKWARD_ROWS,
) -> Tensor:
    """Write the gradient of the first loss to `parameters` (None where it does not depend on one); returns all losses, (K,), without gradients.

    losses: (start, stop) -> what rows start to stop of `count` contribute to each loss, the one to differentiate first;
        contributions add up.
    """

    def part(start: int, stop: int) -> tuple[tuple[Tensor | None, ...], Tensor]:
        with torch.enable_grad():
            found = losses(start, stop)
            gradients = torch.autograd.grad(found[0], parameters, allow_unused=True)
        return gradients, torch.stack([loss.detach() for loss in found])

    if parameters[0].device.type != "cpu" or part_count(count, rows_per_thread=rows_per_thread) < 2:
        parts = [part(0, count)]
    else:
        with one_thread():
            parts = run_parts(part, count, rows_per_thread=rows_per_thread)
    for index, parameter in enumerate(parameters):
        own = [one for gradients, _ in parts if (one := gradients[index]) is not None]
        # Fused optimisers walk parameter and gradient side by side in memory.
        parameter.grad = sum(own[1:], start=own[0]).contiguous() if own else None
    return sum((found for _, found in parts[1:]), start=parts[0][1])


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep PyTorch from splitting operations."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
