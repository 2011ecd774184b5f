"""Kernels of a layer over packed bits: sums of the columns of its weights where a row differs from the usual row, and their gradient.

The weights of the layer are columns (bytes * 8, width), one for each bit. Columns of bits that are usual are stored with the other sign,
so that a difference always adds. Rows are worked on 64 at a time; the gradient of a bit's column is the sum over the rows that differ in
it, which are the bits of one word.
"""

from __future__ import annotations

import numpy as np

from ludory.envs.engine.binding.cached_kernel import cached_kernel

from .vectors import FLAGS, INLINED, add_listed_rows, add_marked_rows, put_eight

LANES = 64
"""Rows that are worked on side by side."""
_ONE = np.uint64(1)
_BITS = np.array([[v >> (7 - b) & 1 for b in range(8)] for v in range(256)], np.uint8)
"""The bits of a byte, the highest first."""
_COUNTS = _BITS.sum(1, dtype=np.int64)
_PLACES = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)
"""Places of the ones of a byte, and then of its zeros."""


@cached_kernel(**INLINED)
def differences(row, usual, places):  # type: ignore[no-untyped-def]
    """Write the places (uint32, as many as bits and 8 more) where a packed row differs from the usual one; returns how many."""
    count = 0
    for k in range(row.shape[0]):
        byte = row[k] ^ usual[k]
        # always eight, of which the next byte overwrites those that are none: a branch would be foretold wrongly too often
        put_eight(_PLACES, byte, k * 8, places, count)
        count += _COUNTS[byte]
    return count


@cached_kernel(**INLINED)
def add_columns(columns, base, usual, seen, rows, places, found, out):  # type: ignore[no-untyped-def]
    """Write the layer's sums of `rows` (at most 64) of `seen` (m, bytes) to `out` (rows, width): that of the usual row, and their own columns.

    places: (64, bits + 8) uint32 and found (64,), where rows differ from the usual one.
    """
    for i in range(rows.shape[0]):
        found[i] = differences(seen[rows[i]], usual, places[i])
        for j in range(base.shape[0]):
            out[i, j] = base[j]
    add_listed_rows(columns, places, found, out)


@cached_kernel(**INLINED)
def mark_differences(places, found, count, marks):  # type: ignore[no-untyped-def]
    """Write to marks (bits,) uint64 which of the first `count` rows differ in a bit."""
    marks[:] = 0
    for i in range(count):
        own, mine = places[i], _ONE << np.uint64(i)
        for t in range(found[i]):
            marks[own[t]] |= mine


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
def add_gradient(usual, marks, delta, columns, bias):  # type: ignore[no-untyped-def]
    """Add the gradient of the columns and of the bias (width,); `delta` (64, width) is that of the sums, zeros where there is no row."""
    width = delta.shape[1]
    # of all rows: the gradient of the bias
    block = np.zeros(width, np.float32)
    for i in range(LANES):
        row = delta[i]
        for j in range(width):
            block[j] += row[j]
    for j in range(width):
        bias[j] += block[j]
    for bit in range(usual.shape[0] * 8):
        if usual[bit >> 3] >> (7 - (bit & 7)) & 1:
            # a usual bit counts, with the other sign, in every row; the rows that differ take it back
            for j in range(width):
                columns[bit, j] -= block[j]
    add_marked_rows(delta, marks, columns)


@cached_kernel(**FLAGS)
def layer(columns, base, usual, seen, out, start, stop):  # type: ignore[no-untyped-def]
    """Write the layer's sums (m, width) of rows start to stop of `seen` (m, bytes)."""
    places, found = np.empty((LANES, columns.shape[0] + 8), np.uint32), np.empty(LANES, np.int64)
    for first in range(start, stop, LANES):
        after = min(first + LANES, stop)
        add_columns(columns, base, usual, seen, np.arange(first, after), places, found, out[first:after])


@cached_kernel(**FLAGS)
def layer_gradient(seen, usual, delta, start, stop):  # type: ignore[no-untyped-def]
    """Gradient (bytes * 8 + 1, width) of the columns from that of the sums, (m, width), of rows start to stop; the last row is that of the bias."""
    bits, width = usual.shape[0] * 8, delta.shape[1]
    gradient, block = np.zeros((bits + 1, width), np.float32), np.zeros((LANES, width), np.float32)
    places, found, marks = np.empty((LANES, bits + 8), np.uint32), np.empty(LANES, np.int64), np.empty(bits, np.uint64)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        for i in range(count):
            found[i] = differences(seen[first + i], usual, places[i])
        mark_differences(places, found, count, marks)
        for i in range(LANES):
            for j in range(width):
                block[i, j] = delta[first + i, j] if i < count else np.float32(0)
        add_gradient(usual, marks, block, gradient[:bits], gradient[bits])
    return gradient


_ONE_BITS = _BITS * np.uint16(0x3F80)
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
