"""A linear layer whose input is 0/1 and stored as bits.

Of the 658 entries of a Hanabi observation about 220 are ones, but only about 110 differ from what is usual in a batch. On a CPU
the layer starts from the sum of the usual row and adds or subtracts one weight row per difference, straight from the packed
bits: 110 x out additions instead of 658 x out multiply-adds, and nothing is expanded to floats. On other devices the bits are
expanded and multiplied densely. Both compute the same sums (in another order).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from ludory.envs.engine.binding.cached_kernel import cached_kernel
from ludory.envs.engine.parallel import run_parts

FEWEST_ROWS = 256
"""Fewer rows than these are expanded: preparing the weights costs more than their additions save."""


class PackedLinear(nn.Linear):
    """`nn.Linear` over the bits of uint8 rows (m, ceil(in_features / 8)), big-endian as `numpy.packbits` makes them."""

    def forward(self, packed: Tensor) -> Tensor:
        """(..., out_features) in the weights' dtype, from (..., ceil(in_features / 8))."""
        rows = packed.shape[:-1].numel()
        if packed.device.type == "cpu" and self.weight.dtype == torch.float32 and rows >= FEWEST_ROWS:
            out: Tensor = _BitSum.apply(packed.flatten(0, -2), self.weight, self.bias)  # type: ignore[no-untyped-call]
            return out.view(*packed.shape[:-1], -1)
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
        # One contiguous row per bit. It is not kept between calls: fused optimisers change weights without counting a version.
        columns = np.empty((rows.shape[1] * 8, len(weight)), np.float32)
        _transpose(weight.detach().numpy(), columns)
        usual = usual_row(rows)
        signs = 1 - 2 * np.unpackbits(usual).astype(np.float32)  # a difference from a set bit takes its weights away
        start = bias.detach().numpy().copy()
        _add_usual(columns, signs, start)
        out = torch.empty(len(rows), weight.shape[0])
        run_parts(_add_differences, len(rows), rows, usual, columns, signs, start, out.numpy())
        ctx.save_for_backward(packed)
        ctx.usual, ctx.in_features = usual, weight.shape[1]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        (gradient,) = gradients
        (packed,) = ctx.saved_tensors
        rows, grad = np.ascontiguousarray(packed.numpy()), gradient.contiguous().numpy()
        sums = run_parts(_difference_gradient, len(rows), rows, ctx.usual, grad)
        by_bit, total = torch.from_numpy(sum(sums[1:], start=sums[0]))[: ctx.in_features], gradient.sum(0)
        # a usually set bit: all rows less those that differ
        set_bits = torch.from_numpy(np.unpackbits(ctx.usual)[: ctx.in_features].astype(bool)).unsqueeze(1)
        return None, torch.where(set_bits, total - by_bit, by_bit).t().contiguous(), total


def usual_row(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bits (bytes,) that are set in most rows, judged by at most 64 of them."""
    sample = rows[:: -(-len(rows) // 64) or 1]
    return np.packbits(np.unpackbits(sample, axis=1).sum(0, dtype=np.int64) * 2 > len(sample))


_ONES = np.array([[b for b in range(8) if v >> (7 - b) & 1] + [0] * (8 - v.bit_count()) for v in range(256)], np.int32)
"""Positions of the ones of a byte, first bit highest; [256, 8], filled up with zeros."""
_COUNT = np.array([v.bit_count() for v in range(256)], np.int32)


@cached_kernel(nogil=True, error_model="numpy")
def differences(row, usual, places):  # type: ignore[no-untyped-def]
    """Write the places where a packed row differs from the usual one; returns how many. No branch depends on the data."""
    count = 0
    for byte in range(row.shape[0]):
        value = row[byte] ^ usual[byte]
        for t in range(8):
            # always eight places; those beyond the count are overwritten next
            places[count + t] = byte * 8 + _ONES[value, t]
        count += _COUNT[value]
    return count


@cached_kernel(nogil=True, error_model="numpy")
def _transpose(weight, out):  # type: ignore[no-untyped-def]
    """Write `weight` (n, m) to `out` (at least m, n), the rows beyond m 0; in squares, so that both stay in the cache."""
    n, m = weight.shape
    out[m:] = 0
    for first in range(0, n, 32):
        for low in range(0, m, 32):
            for i in range(first, min(first + 32, n)):
                for j in range(low, min(low + 32, m)):
                    out[j, i] = weight[i, j]


@cached_kernel(nogil=True, error_model="numpy")
def _add_usual(columns, signs, out):  # type: ignore[no-untyped-def]
    """Add the columns of the bits that are usually set."""
    for bit in range(signs.shape[0]):
        if signs[bit] < 0:
            for j in range(out.shape[0]):
                out[j] += columns[bit, j]


@cached_kernel(nogil=True, error_model="numpy", fastmath=True)
def _add_differences(rows, usual, columns, signs, base, out, start, stop):  # type: ignore[no-untyped-def]
    width = out.shape[1]
    # eight more than there are, see `differences`
    places = np.empty(rows.shape[1] * 8 + 8, np.int32)
    for k in range(start, stop):
        total = out[k]
        for j in range(width):
            total[j] = base[j]
        count = differences(rows[k], usual, places)
        whole = count - count % 4
        for t in range(0, whole, 4):  # four at a time: a quarter of the loads and stores of `total`
            a, b, c, d = columns[places[t]], columns[places[t + 1]], columns[places[t + 2]], columns[places[t + 3]]
            p, q, r, s = signs[places[t]], signs[places[t + 1]], signs[places[t + 2]], signs[places[t + 3]]
            for j in range(width):
                total[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j])
        for t in range(whole, count):
            column, sign = columns[places[t]], signs[places[t]]
            for j in range(width):
                total[j] += sign * column[j]


@cached_kernel(nogil=True, error_model="numpy", fastmath=True)
def _difference_gradient(rows, usual, grad, start, stop):  # type: ignore[no-untyped-def]
    width = grad.shape[1]
    places = np.empty(rows.shape[1] * 8 + 8, np.int32)
    sums = np.zeros((rows.shape[1] * 8, width), np.float32)
    for k in range(start, stop):
        row = grad[k]
        for t in range(differences(rows[k], usual, places)):
            total = sums[places[t]]
            for j in range(width):
                total[j] += row[j]
    return sums
