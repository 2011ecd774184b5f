"""A linear layer whose input is 0/1 and stored as bits.

Of the 658 entries of a Hanabi observation about 210 are ones, but only about 125 differ from what is usual in a batch, and many of them
together. On a CPU the layer starts from the sum of the usual row and adds or subtracts one weight row per difference or frequent
pattern of differences, straight from the packed bits: 85 x out additions instead of 658 x out multiply-adds, and nothing is expanded to
floats. On other devices, and in bfloat16, for which processors have units that multiply matrices, the bits are expanded and multiplied
densely. All compute the same sums (in another order).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from ludory.envs import run_parts

from .bit_kernels import bit_code, expand, layer, layer_gradient, usual_sums

FEWEST_ROWS = 256
"""Fewer rows than these are expanded: preparing the weights costs more than their additions save."""
ROWS_FOR_PATTERNS = 1024
"""Fewest rows for which patterns are looked for, which takes about a tenth of a millisecond."""


class PackedLinear(nn.Linear):
    """`nn.Linear` over the bits of uint8 rows (m, ceil(in_features / 8)), big-endian as `numpy.packbits` makes them."""

    def forward(self, packed: Tensor) -> Tensor:
        """(..., out_features) in the weights' dtype, from (..., ceil(in_features / 8))."""
        rows = packed.shape[:-1].numel()
        if packed.device.type == "cpu" and self.weight.dtype == torch.float32 and rows >= FEWEST_ROWS:
            if torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16:
                return linear(_expanded(packed, self.in_features), self.weight, self.bias)
            out: Tensor = _BitSum.apply(packed.flatten(0, -2), self.weight, self.bias)  # type: ignore[no-untyped-call]
            return out.view(*packed.shape[:-1], -1)
        kind = packed.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else self.weight.dtype
        return linear(expanded(packed, self.in_features, dtype), self.weight, self.bias)


def expanded(packed: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """0/1 in `dtype` (..., size) from big-endian bits (..., ceil(size / 8)): on a GPU eight entries are looked up at once and written once."""
    if packed.device.type == "cpu":
        return unpack(packed, size).to(dtype)
    return embedding(packed.int(), _bytes_as_entries(packed.device, dtype)).flatten(-2)[..., :size]


@cache
def _bytes_as_entries(device: torch.device, dtype: torch.dtype) -> Tensor:
    """(256, 8): the entries of every byte."""
    every = torch.arange(256, dtype=torch.uint8, device=device).unsqueeze(1)
    return unpack(every, 8).to(dtype)


def unpack(packed: Tensor, size: int) -> Tensor:
    """0/1 uint8 (..., size) from big-endian bits (..., ceil(size / 8))."""
    shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=packed.device)
    bits = (packed.unsqueeze(-1) >> shifts) & 1
    return bits.flatten(-2)[..., :size]


def _expanded(packed: Tensor, size: int) -> Tensor:
    """0/1 in bfloat16 (..., size), on the CPU."""
    rows = packed.flatten(0, -2).contiguous().numpy()
    out = np.empty((len(rows), size), np.uint16)
    run_parts(expand, len(rows), rows, out)
    return torch.from_numpy(out).view(torch.bfloat16).view(*packed.shape[:-1], size)


class _BitSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, packed: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = np.ascontiguousarray(packed.numpy())
        code = bit_code(rows, patterns=len(rows) >= ROWS_FOR_PATTERNS)
        signs = 1 - 2 * np.unpackbits(code.usual).astype(np.float32)[: weight.shape[1]]
        # One contiguous column per bit. It is not kept between calls: fused optimisers change weights without counting a version.
        columns = torch.zeros(rows.shape[1] * 8 + len(code.patterns), len(weight))
        torch.mul(weight.detach().t(), torch.from_numpy(signs).unsqueeze(1), out=columns[: len(signs)])
        base, out = np.empty(len(weight), np.float32), torch.empty(len(rows), len(weight))
        usual_sums(columns.numpy(), tuple(code), bias.detach().numpy(), base)
        run_parts(layer, len(rows), columns.numpy(), base, tuple(code), rows, out.numpy())
        ctx.save_for_backward(packed)
        ctx.code, ctx.signs = code, signs
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        (packed,), signs = ctx.saved_tensors, torch.from_numpy(ctx.signs).unsqueeze(1)
        rows, delta = np.ascontiguousarray(packed.numpy()), gradients[0].contiguous().numpy()
        sums = run_parts(layer_gradient, len(rows), rows, tuple(ctx.code), delta)
        total = torch.from_numpy(sum(sums[1:], start=sums[0]))
        return None, (total[1 : len(signs) + 1] * signs).t().contiguous(), total[0]
