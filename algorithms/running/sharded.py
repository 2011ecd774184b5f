"""`ShardedModule`: a network whose weights, gradients and moments are spread over processes (FSDP2, arXiv:2304.11277)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from .ranks import Ranks


class ShardedModule:
    """Learns in place of a network, whose own weights take no memory meanwhile, except within `filled`.

    All processes have to make the same calls, with as many forward and backward passes each. Gradients are means over them.

    Args:
        plain: the network, with the same weights in all processes.
        ranks: the processes.
    """

    def __init__(self, plain: nn.Module, ranks: Ranks) -> None:
        self._plain = plain
        own = list(plain.parameters())
        # the same memory under other names, until it is cut: a second copy would not fit
        names: dict[int, Any] = {id(one): nn.Parameter(one.detach(), one.requires_grad) for one in own}
        self.module: nn.Module = copy.deepcopy(plain, names)
        """Forward and backward passes go through it."""
        mesh = init_device_mesh(own[0].device.type, (ranks.size,))
        for block in _blocks(self.module):
            fully_shard(block, mesh=mesh)
        fully_shard(self.module, mesh=mesh)
        ranks.in_step = True
        self._empty()

    def cut(self) -> nn.Module:
        """`module` with its own part of each weight alone, as between two steps; a forward pass leaves some of them whole."""
        for part in self.module.modules():
            if isinstance(part, FSDPModule):
                part.reshard()
        return self.module

    @contextmanager
    def filled(self) -> Iterator[None]:
        """Within it the plain network has all weights as they are now."""
        self.fill()
        try:
            yield
        finally:
            self._empty()

    def fill(self) -> None:
        """Give the plain network all weights as they are now, for good."""
        with torch.no_grad():
            for own, part in zip(self._plain.parameters(), self.cut().parameters(), strict=True):
                own.data = self.whole(part.detach())

    @staticmethod
    def whole(tensor: Tensor) -> Tensor:
        """A tensor that may be spread over processes, as one; all of them call this."""
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    @staticmethod
    def own_part(tensor: Tensor) -> Tensor:
        """What this process has of a tensor that may be spread."""
        return tensor.to_local() if isinstance(tensor, DTensor) else tensor

    @staticmethod
    def spread_moments(optimiser: torch.optim.Optimizer) -> None:
        """Leave each process its own part of moments that were restored whole."""
        for parameter, state in optimiser.state.items():
            for name, moment in state.items():
                if isinstance(parameter, DTensor) and name != "step" and not isinstance(moment, DTensor):
                    # every process has the whole, so that nothing has to be sent
                    state[name] = distribute_tensor(
                        moment.to(parameter.device), parameter.device_mesh, parameter.placements, src_data_rank=None
                    )

    def _empty(self) -> None:
        for parameter in self._plain.parameters():
            parameter.data = parameter.data.new_empty(0)


def _blocks(network: nn.Module) -> Iterator[nn.Module]:
    """The layers of a network: members of its lists of modules, those within them left out."""
    for part in network.children():
        if isinstance(part, nn.ModuleList):
            yield from part
        else:
            yield from _blocks(part)
