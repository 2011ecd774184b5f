"""Kernels of a layer over packed bits: sums of the columns of its weights where a row differs from the usual row, and their gradient.

The weights of the layer are columns (bytes * 8 + 1, width), one for each bit, and a last one of zeros. Columns of bits that are usual
are stored with the other sign, so that a difference always adds. The gradient is worked out for 64 rows at a time, from lists of the
rows that differ in a bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludory.envs.engine.binding.cached_kernel import cached_kernel

LANES = 64
"""Rows that are worked on side by side."""
FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": True}
"""Of kernels that Python calls."""
INLINED: dict[str, Any] = {**FLAGS, "forceinline": True}
"""Of kernels that kernels call. A copy of their own would be optimised apart, with other rounding, and which copy is called
would depend on whether this process compiled it or read it from the cache."""


@cached_kernel(**INLINED)
def differences(row, usual, places):  # type: ignore[no-untyped-def]
    """Write the places where a packed row differs from the usual one; returns how many.

    Seven bytes make a positive integer, whose lowest bit is taken off until none is left.
    """
    count, size = 0, row.shape[0]
    whole = size - size % 7
    for first in range(0, whole, 7):
        word = np.int64(0)
        for k in range(7):
            word = word << 8 | np.int64(row[first + k] ^ usual[first + k])
        count = _places_of_ones(word, first * 8 + 55, places, count)
    word = np.int64(0)
    for k in range(whole, size):
        word = word << 8 | np.int64(row[k] ^ usual[k])
    return _places_of_ones(word, size * 8 - 1, places, count)


@cached_kernel(**INLINED)
def _places_of_ones(word, last, places, count):  # type: ignore[no-untyped-def]
    while word:
        low = word & -word
        # the exponent of a power of two as a float is its number
        places[count] = last - ((np.float64(low).view(np.int64) >> 52) - 1023)
        count += 1
        word ^= low
    return count


@cached_kernel(**INLINED)
def list_differences(seen, order, usual, lists, counts, places, i):  # type: ignore[no-untyped-def]
    """Put row `order[i]` of `seen` into the lists of the bits in which it differs, as row i; returns how many these are."""
    found = differences(seen[order[i]], usual, places)
    for t in range(found):
        place = places[t]
        lists[place, counts[place]] = i
        counts[place] += 1
    return found


@cached_kernel(**INLINED)
def add_columns(columns, base, places, found, total):  # type: ignore[no-untyped-def]
    """Write to `total` (width,) the sum of `base` and of the columns at `places[:found]`."""
    # filled up to a multiple of eight with the zero column
    for t in range(found, found + 7):
        places[t] = columns.shape[0] - 1
    for j in range(total.shape[0]):
        total[j] = base[j]
    for t in range(0, found, 8):
        _add_eight(columns, places[t : t + 8], total)


@cached_kernel(**INLINED)
def _add_eight(rows, which, total):  # type: ignore[no-untyped-def]
    """Add the sum of eight rows to `total`."""
    a, b, c, d = rows[which[0]], rows[which[1]], rows[which[2]], rows[which[3]]
    e, f, g, h = rows[which[4]], rows[which[5]], rows[which[6]], rows[which[7]]
    for j in range(total.shape[0]):
        total[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]))


@cached_kernel(**INLINED)
def _add_four(rows, which, total):  # type: ignore[no-untyped-def]
    """Add the sum of four rows to `total`."""
    a, b, c, d = rows[which[0]], rows[which[1]], rows[which[2]], rows[which[3]]
    for j in range(total.shape[0]):
        total[j] += (a[j] + b[j]) + (c[j] + d[j])


@cached_kernel(**INLINED)
def base_row(columns, usual, bias, out):  # type: ignore[no-untyped-def]
    """Write what the layer gives for the usual row, (width,)."""
    width = out.shape[0]
    for j in range(width):
        out[j] = bias[j]
    for bit in range(usual.shape[0] * 8):
        if usual[bit >> 3] >> (7 - (bit & 7)) & 1:
            # stored with the other sign: taking it off adds it
            for j in range(width):
                out[j] -= columns[bit, j]


@cached_kernel(**INLINED)
def add_gradient(usual, lists, counts, delta, columns, bias):  # type: ignore[no-untyped-def]
    """Add the gradient of the columns and of the bias (width,); `delta` (65, width) is that of the sums, with a last row of zeros.

    lists: (bits + 1, 72) uint8 and counts (bits + 1,) of the rows that differ in a bit.
    """
    width, bits = delta.shape[1], usual.shape[0] * 8
    # of all rows: the gradient of the bias
    block = np.zeros(width, np.float32)
    for i in range(LANES):
        row = delta[i]
        for j in range(width):
            block[j] += row[j]
    for j in range(width):
        bias[j] += block[j]
    for bit in range(bits):
        found, column = counts[bit], columns[bit]
        if usual[bit >> 3] >> (7 - (bit & 7)) & 1:
            # a usual bit counts, with the other sign, in every row; the rows that differ take it back
            for j in range(width):
                column[j] -= block[j]
        # filled up to a multiple of four: most bits differ in few rows
        for t in range(found, found + 3):
            # the row of zeros
            lists[bit, t] = LANES
        whole = found - found % 8
        for t in range(0, whole, 8):
            _add_eight(delta, lists[bit, t : t + 8], column)
        for t in range(whole, found, 4):
            _add_four(delta, lists[bit, t : t + 4], column)


@cached_kernel(**FLAGS)
def layer(columns, base, usual, seen, out, start, stop):  # type: ignore[no-untyped-def]
    """Write the layer's sums (m, width) of rows start to stop of `seen` (m, bytes)."""
    places = np.empty(usual.shape[0] * 8 + 8, np.int64)
    for k in range(start, stop):
        add_columns(columns, base, places, differences(seen[k], usual, places), out[k])


@cached_kernel(**FLAGS)
def layer_gradient(seen, usual, delta, start, stop):  # type: ignore[no-untyped-def]
    """Gradient (bytes * 8 + 1, width) of the columns from that of the sums, (m, width), of rows start to stop; the last row is that of the bias."""
    bits, width = usual.shape[0] * 8, delta.shape[1]
    gradient, block = np.zeros((bits + 1, width), np.float32), np.zeros((LANES + 1, width), np.float32)
    lists, counts = np.empty((bits + 1, LANES + 8), np.uint8), np.empty(bits + 1, np.int64)
    places, order = np.empty(bits + 8, np.int64), np.arange(start, stop)
    for first in range(0, stop - start, LANES):
        rows = order[first : min(first + LANES, stop - start)]
        for bit in range(bits):
            counts[bit] = 0
        for i in range(rows.shape[0]):
            list_differences(seen, rows, usual, lists, counts, places, i)
        for i in range(LANES):
            for j in range(width):
                block[i, j] = delta[rows[i], j] if i < rows.shape[0] else np.float32(0)
        add_gradient(usual, lists, counts, block, gradient, gradient[bits])
    return gradient


_ONE_BITS = np.array([[v >> (7 - b) & 1 for b in range(8)] for v in range(256)], np.uint16) * np.uint16(0x3F80)
"""The bits of a byte as numbers 0 and 1 in bfloat16."""


@cached_kernel(**FLAGS)
def expand(seen, out, start, stop):  # type: ignore[no-untyped-def]
    """Write rows start to stop of `seen` (m, bytes) to `out` (m, size), 0 and 1 in bfloat16."""
    size = out.shape[1]
    for k in range(start, stop):
        row, place = seen[k], out[k]
        for byte in range(size >> 3):
            bits, own = _ONE_BITS[row[byte]], place[byte * 8 : byte * 8 + 8]
            for b in range(8):
                own[b] = bits[b]
        for bit in range(size & ~7, size):
            place[bit] = _ONE_BITS[row[bit >> 3], bit & 7]
