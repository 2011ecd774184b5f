"""Where the state of n games lives on CUDA: one pool [width, n] per dtype, the game the fastest axis.

A field's values of neighbouring games lie side by side, so that neighbouring threads read neighbouring bytes; and games are
copied with one operation per dtype.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from ludory.envs.game import Field, State

from .storage import own_fields, state_class

Pools = dict[str, Tensor]
"""[width, n] by dtype name."""


def new_pools(fields: Mapping[str, Field], count: int, device: torch.device) -> Pools:
    """Pools of `count` games with every field at its initial value."""
    widths: dict[str, int] = {}
    for spec in own_fields(fields).values():
        widths[spec.dtype] = widths.get(spec.dtype, 0) + math.prod(spec.shape)
    pools = {
        dtype: torch.zeros((width, count), dtype=getattr(torch, dtype), device=device)
        for dtype, width in widths.items()
    }
    state = pool_views(own_fields(fields), pools)
    for name, field in state._asdict().items():
        field.copy_(torch.tensor(fields[name].fill, dtype=field.dtype))
    return pools


def pool_views(fields: Mapping[str, Field], pools: Pools, shared: Mapping[str, Tensor] = MappingProxyType({})) -> State:
    """The pools as a NamedTuple of tensors (n, ...) that share their memory, in Fortran order, with the tensors that all games share."""
    used = dict.fromkeys(pools, 0)
    views = []
    for name, spec in fields.items():
        if spec.shared:
            views.append(shared[name])
            continue
        pool, width = pools[spec.dtype], math.prod(spec.shape)
        part = pool[used[spec.dtype] : used[spec.dtype] + width]
        used[spec.dtype] += width
        turned = part.view(*reversed(spec.shape), pool.shape[1])
        views.append(turned.permute(*reversed(range(turned.ndim))))
    return state_class(tuple(fields))(*views)


def gather_pools(pools: Pools, rows: Tensor) -> Pools:
    """Copies of the games `rows`, in that order."""
    return {dtype: pool.index_select(1, rows) for dtype, pool in pools.items()}
