"""`Ranks`: the processes of one learner, which hold the same network and each have a share of its games and of every minibatch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from ludory.errors import LostWorkerError

PATIENCE = timedelta(days=1)
"""How long a process waits for the others: the first one may evaluate between two iterations. One that is lost is noticed at once."""


class MinibatchPart(NamedTuple):
    """Rows of a minibatch that one process learns from."""

    start: int
    stop: int
    weight: float
    """1; 0 where there are fewer rows than processes, and a process computes a gradient that does not count."""


def file_store(meeting: str, size: int) -> Any:
    """A store of `size` processes of one machine; meeting: a file that does not exist yet."""
    return dist.FileStore(meeting, size)  # type: ignore[attr-defined]  # published, but not in its `__all__`


class Ranks:
    """The processes of one learner, as one of them sees them; close it in all of them.

    Args:
        rank: number of this process; 0 is the one that the user started.
        size: how many there are.
        store: of `torch.distributed`, by which they find each other.
    """

    def __init__(self, rank: int, size: int, store: object) -> None:
        self.rank, self.size = rank, size
        self.in_step = False
        """Whether all have to make equally many forward passes, because the weights are spread over them."""
        backends = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backends, store=store, rank=rank, world_size=size, timeout=PATIENCE)  # type: ignore[arg-type]

    def close(self) -> None:
        """Leave the others."""
        dist.destroy_process_group()

    def part(self, count: int) -> MinibatchPart:
        """Which of `count` rows are this process's."""
        start, stop = self._edges(count)[self.rank : self.rank + 2]
        return MinibatchPart(start, stop, 1.0) if start < stop else MinibatchPart(0, 1, 0.0)

    def add(self, parameters: Sequence[Tensor], losses: Tensor, weight: float) -> Tensor:
        """Add up the gradients of all processes, in place, and their losses (K,), which are returned; `weight` counts this one's.

        Parameters without a gradient have none in any process.
        """
        parts = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([part.flatten() for part in (*parts, losses.to(torch.float32))]) * weight
        told(dist.all_reduce, flat)
        for part, total in zip(parts, flat.split([*(part.numel() for part in parts), len(losses)])[:-1], strict=True):
            part.copy_(total.view_as(part))
        return flat[len(flat) - len(losses) :]

    def total(self, mine: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        found = mine.detach().clone()
        told(dist.all_reduce, found)
        return found

    def joined(self, part: Tensor, axis: int) -> Tensor:
        """Parts of all processes, which have the same shape, along an axis."""
        sent = part.contiguous()
        bits = sent.view(torch.uint8) if sent.dtype == torch.bool else sent
        parts = [torch.empty_like(bits) for _ in range(self.size)]
        told(dist.all_gather, parts, bits)
        return torch.cat([one.view(part.dtype) for one in parts], axis)

    def of_columns(self, mine: Tensor, count: int) -> Tensor:
        """[T, count, ...] of all processes, each of which has its `part` of the columns."""
        widest = -(-count // self.size)
        padded = mine.new_zeros(mine.shape[0], widest, *mine.shape[2:])
        padded[:, : mine.shape[1]] = mine
        found = self.joined(padded, 1)
        sizes = [stop - start for start, stop in pairwise(self._edges(count))]
        return found[:, [widest * rank + k for rank, size in enumerate(sizes) for k in range(size)]]

    def _edges(self, count: int) -> list[int]:
        """Where the parts of `count` rows begin, and where the last one ends."""
        return [count * rank // self.size for rank in range(self.size + 1)]

    def objects(self, mine: object) -> list[Any]:
        """What each process has, by rank."""
        found: list[Any] = [None] * self.size
        told(dist.all_gather_object, found, mine)
        return found

    def said(self, what: object = None) -> Any:
        """What the first process says to all of them; `what` is not read in the others."""
        box = [what]
        told(dist.broadcast_object_list, box, 0)
        return box[0]


def told(exchange: Callable[..., object], *args: object) -> None:
    """Call a function of `torch.distributed`.

    Raises:
        LostWorkerError: another process is gone.
    """
    try:
        exchange(*args)
    except RuntimeError as error:
        raise _lost(error) from error


@contextmanager
def named_loss() -> Iterator[None]:
    """Within it, what PyTorch raises where it calls `torch.distributed` itself becomes the error of a lost process.

    Raises:
        LostWorkerError: another process is gone.
    """
    try:
        yield
    except LostWorkerError:
        raise
    except RuntimeError as error:
        # gloo raises no class of its own
        if isinstance(error, dist.DistBackendError) or "gloo" in str(error):
            raise _lost(error) from error
        raise


def _lost(error: RuntimeError) -> LostWorkerError:
    reason = str(error).splitlines()[0].partition(". ")[0]
    return LostWorkerError(
        f"a process that learnt with this one is gone ({reason}); what was saved last is whole: go on from it, with --resume where the "
        "command has it"
    )
