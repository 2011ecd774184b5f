"""Where the state of n games lives on CUDA: one pool [width, n] per dtype, the game the fastest axis.

A field's values of neighbouring games lie side by side, so that neighbouring threads read neighbouring bytes; and games are
copied with one operation per dtype.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from .game import Field, State
from .storage import state_class

Pools = dict[str, Tensor]
"""[width, n] by dtype name."""


def new_pools(fields: Mapping[str, Field], count: int, device: torch.device) -> Pools:
    """Pools of `count` games with every field at its initial value."""
    widths: dict[str, int] = {}
    for spec in fields.values():
        widths[spec.dtype] = widths.get(spec.dtype, 0) + math.prod(spec.shape)
    pools = {
        dtype: torch.zeros((width, count), dtype=getattr(torch, dtype), device=device)
        for dtype, width in widths.items()
    }
    for spec, field in zip(fields.values(), pool_views(fields, pools), strict=True):
        field.copy_(torch.tensor(spec.fill, dtype=field.dtype))
    return pools


def pool_views(fields: Mapping[str, Field], pools: Pools) -> State:
    """The pools as a NamedTuple of tensors (n, ...) that share their memory, in Fortran order."""
    used = dict.fromkeys(pools, 0)
    views = []
    for spec in fields.values():
        pool, width = pools[spec.dtype], math.prod(spec.shape)
        part = pool[used[spec.dtype] : used[spec.dtype] + width]
        used[spec.dtype] += width
        turned = part.view(*reversed(spec.shape), pool.shape[1])
        views.append(turned.permute(*reversed(range(turned.ndim))))
    return state_class(tuple(fields))(*views)


def gather_pools(pools: Pools, rows: Tensor) -> Pools:
    """Copies of the games `rows`, in that order."""
    return {dtype: pool.index_select(1, rows) for dtype, pool in pools.items()}
