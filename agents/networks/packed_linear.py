"""A linear layer whose input is 0/1 and stored as bits.

A Hanabi observation has about 100 ones among 658 entries. On a CPU the layer adds the weight rows of the ones, straight from
the packed bits: per row 100 x out additions instead of 658 x out multiply-adds, and nothing is expanded to floats. On other
devices the bits are expanded and multiplied densely. Both compute the same sums (in another order).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn.functional import linear

from ludory.envs.parallel import run_parts


class PackedLinear(nn.Linear):
    """`nn.Linear` over the bits of uint8 rows (m, ceil(in_features / 8)), big-endian as `numpy.packbits` makes them."""

    def forward(self, packed: Tensor) -> Tensor:
        """(m, out_features) float32."""
        if packed.device.type == "cpu" and self.weight.dtype == torch.float32:
            return _BitSum.apply(packed, self.weight, self.bias)  # type: ignore[no-any-return, no-untyped-call]
        return linear(unpack(packed, self.in_features).to(self.weight.dtype), self.weight, self.bias)


def unpack(packed: Tensor, size: int) -> Tensor:
    """0/1 uint8 (..., size) from big-endian bits (..., ceil(size / 8))."""
    shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=packed.device)
    bits = (packed.unsqueeze(-1) >> shifts) & 1
    return bits.flatten(-2)[..., :size]


class _BitSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, packed: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = np.ascontiguousarray(packed.numpy())
        columns = np.zeros(
            (rows.shape[1] * 8, len(weight)), np.float32
        )  # one contiguous row per bit; padding bits add 0
        columns[: weight.shape[1]] = weight.detach().t().numpy()
        out = torch.empty(len(rows), weight.shape[0])
        run_parts(_add_rows, len(rows), rows, columns, bias.detach().numpy(), out.numpy())
        ctx.save_for_backward(packed)
        ctx.in_features = weight.shape[1]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        (gradient,) = gradients
        (packed,) = ctx.saved_tensors
        rows, grad = np.ascontiguousarray(packed.numpy()), gradient.contiguous().numpy()
        sums = run_parts(_part_gradient, len(rows), rows, grad)
        total = torch.from_numpy(sum(sums[1:], start=sums[0]))[: ctx.in_features]
        return None, total.t(), gradient.sum(0)


_ONES = np.array([[b for b in range(8) if v >> (7 - b) & 1] + [0] * (8 - v.bit_count()) for v in range(256)], np.int32)
"""Positions of the ones of a byte, first bit highest; [256, 8], filled up with zeros."""
_COUNT = np.array([v.bit_count() for v in range(256)], np.int32)


@njit(cache=True, nogil=True, error_model="numpy")
def _decode(row, ones):  # type: ignore[no-untyped-def]
    """Positions of the ones of a packed row, written to `ones`; gives how many. No branch depends on the data."""
    count = 0
    for byte in range(row.shape[0]):
        value = row[byte]
        for t in range(8):
            ones[count + t] = byte * 8 + _ONES[value, t]
        count += _COUNT[value]
    return count


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def _add_rows(rows, columns, bias, out, start, stop):  # type: ignore[no-untyped-def]
    width = out.shape[1]
    ones = np.empty(rows.shape[1] * 8 + 8, np.int32)
    for k in range(start, stop):
        total = out[k]
        for j in range(width):
            total[j] = bias[j]
        count = _decode(rows[k], ones)
        whole = count - count % 4
        for t in range(0, whole, 4):  # four at a time: a quarter of the loads and stores of `total`
            a, b, c, d = columns[ones[t]], columns[ones[t + 1]], columns[ones[t + 2]], columns[ones[t + 3]]
            for j in range(width):
                total[j] += (a[j] + b[j]) + (c[j] + d[j])
        for t in range(whole, count):
            column = columns[ones[t]]
            for j in range(width):
                total[j] += column[j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=True)
def _part_gradient(rows, grad, start, stop):  # type: ignore[no-untyped-def]
    width = grad.shape[1]
    ones = np.empty(rows.shape[1] * 8 + 8, np.int32)
    sums = np.zeros((rows.shape[1] * 8, width), np.float32)
    for k in range(start, stop):
        row = grad[k]
        for t in range(_decode(rows[k], ones)):
            total = sums[ones[t]]
            for j in range(width):
                total[j] += row[j]
    return sums
