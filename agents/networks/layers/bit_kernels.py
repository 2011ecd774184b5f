"""Kernels of a layer over packed bits: sums of the columns of its weights where a row differs from the usual row, and their gradient.

The weights of the layer are columns (bytes * 8 + patterns, width), one for each bit. Columns of bits that are usual are stored with the
other sign, so that a difference always adds. Bits that often differ together are a pattern, whose column is their sum: one addition
instead of several. Rows are worked on 64 at a time; the gradient of a column is the sum over the rows that have it, which are the bits of
one word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludory.envs.engine.binding.cached_kernel import plain

from .vectors import add_listed_rows, add_marked_rows, called, entry, list_columns

LANES = 64
"""Rows that are worked on side by side."""
_ONE = np.uint64(1)
_BITS = np.array([[v >> (7 - b) & 1 for b in range(8)] for v in range(256)], np.uint8)
"""The bits of a byte, the highest first."""
_COUNTS = _BITS.sum(1, dtype=np.int64)
_PLACES = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint32)
"""Places of the ones of a byte, and then of its zeros."""
SAMPLE = 128
"""Rows by which patterns are chosen."""
MOST_PATTERNS = 128
"""More of them save little, and their columns would leave less of the cache to the others."""
RAREST = 32
"""A pattern is in one of so many rows: its column must be summed, and its gradient distributed, once for each minibatch."""


class BitCode(NamedTuple):
    """How rows are told apart: from which one they differ, and by which columns."""

    usual: NDArray[np.uint8]
    """(bytes,), the row that others are compared with."""
    lines: NDArray[np.uint16]
    """(bytes, 256), for each byte of a difference a line of `places`."""
    places: NDArray[np.uint32]
    """(256 + patterns, 8), columns, counted from the byte's first one."""
    counts: NDArray[np.int64]
    """(256 + patterns,), how many of a line are columns."""
    patterns: NDArray[np.int64]
    """(patterns, 2), byte and its bits."""


def bit_code(rows: NDArray[np.uint8], patterns: bool = True) -> BitCode:
    """The code that makes rows like these (m, bytes) short: the usual row has the bits that are set in most of them."""
    sample = rows[:: -(-len(rows) // 64) or 1]
    usual = np.packbits(np.unpackbits(sample, axis=1).sum(0, dtype=np.int64) * 2 > len(sample))
    size = len(usual)
    lines = np.tile(np.arange(256, dtype=np.uint16), (size, 1))
    sample = rows[:: -(-len(rows) // SAMPLE) or 1] ^ usual
    found = np.bincount((sample + 256 * np.arange(size)).ravel(), minlength=size * 256)
    # a pattern of n bits saves n - 1 additions in every row that has it
    saved = found * np.tile(_COUNTS - 1, size) * (patterns and found * RAREST > len(sample))
    worth = np.flatnonzero(saved > 0)
    chosen = worth[np.argsort(-saved[worth], kind="stable")][:MOST_PATTERNS]
    byte, value = np.divmod(chosen, 256)
    lines[byte, value] = 256 + np.arange(len(chosen))
    # a pattern's line has one column, behind those of all bits
    own = np.zeros((len(chosen), 8), np.int64)
    own[:, 0] = 8 * (size - byte) + np.arange(len(chosen))
    places, counts = np.concatenate([_PLACES, own.astype(np.uint32)]), np.append(_COUNTS, np.ones_like(chosen))
    return BitCode(usual, lines, places, counts, np.stack([byte, value], axis=1))


@called
def differences(row, code, places):  # type: ignore[no-untyped-def]
    """Write the columns (uint32, room for 8 more than there are bits) that a packed row adds to the usual one; returns how many."""
    usual, lines, table, counts, _ = code
    return list_columns(row, usual, lines, table, counts, places)


@called
def add_columns(columns, base, code, seen, rows, places, found, out):  # type: ignore[no-untyped-def]
    """Write the layer's sums of `rows` (at most 64) of `seen` (m, bytes) to `out` (rows, width): that of the usual row, and their own columns.

    places: (64, bits + 8) uint32 and found (64,), the columns that rows add.
    """
    for i in range(rows.shape[0]):
        found[i] = differences(seen[rows[i]], code, places[i])
        for j in range(base.shape[0]):
            out[i, j] = base[j]
    add_listed_rows(columns, places, found, out)


@called
def mark_differences(places, found, count, marks):  # type: ignore[no-untyped-def]
    """Write to marks (columns,) uint64 which of the first `count` rows add a column."""
    marks[:] = 0
    for i in range(count):
        own, mine = places[i], _ONE << np.uint64(i)
        for t in range(found[i]):
            marks[own[t]] |= mine


@called
def base_row(columns, code, bias, out):  # type: ignore[no-untyped-def]
    """Write what the layer gives for the usual row, (width,), and the columns of patterns."""
    usual, _, _, _, patterns = code
    width, bits = out.shape[0], usual.shape[0] * 8
    for j in range(width):
        out[j] = bias[j]
    for bit in range(bits):
        if usual[bit >> 3] >> (7 - (bit & 7)) & 1:
            # stored with the other sign: taking it off adds it
            for j in range(width):
                out[j] -= columns[bit, j]
    for p in range(patterns.shape[0]):
        column = columns[bits + p]
        column[:] = 0
        for b in range(8):
            if patterns[p, 1] >> (7 - b) & 1:
                part = columns[patterns[p, 0] * 8 + b]
                for j in range(width):
                    column[j] += part[j]


usual_sums = entry(plain(base_row))


@called
def share_patterns(code, columns):  # type: ignore[no-untyped-def]
    """Add the gradient of each pattern's column to those of its bits, and set it to 0."""
    usual, _, _, _, patterns = code
    bits = usual.shape[0] * 8
    for p in range(patterns.shape[0]):
        column = columns[bits + p]
        for b in range(8):
            if patterns[p, 1] >> (7 - b) & 1:
                part = columns[patterns[p, 0] * 8 + b]
                for j in range(column.shape[0]):
                    part[j] += column[j]
        column[:] = 0


@called
def add_gradient(usual, marks, delta, columns, bias):  # type: ignore[no-untyped-def]
    """Add the gradient of the columns and of the bias (width,); `delta` (64, width) is that of the sums, zeros where there is no row.

    What is added to patterns' columns still has to be shared by their bits.
    """
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


@entry
def layer(columns, base, code, seen, out, start, stop):  # type: ignore[no-untyped-def]
    """Write the layer's sums (m, width) of rows start to stop of `seen` (m, bytes)."""
    places, found = np.empty((LANES, seen.shape[1] * 8 + 8), np.uint32), np.empty(LANES, np.int64)
    for first in range(start, stop, LANES):
        after = min(first + LANES, stop)
        add_columns(columns, base, code, seen, np.arange(first, after), places, found, out[first:after])


@entry
def layer_gradient(seen, code, delta, start, stop):  # type: ignore[no-untyped-def]
    """Gradient (1 + bytes * 8 + patterns, width) of bias and columns from that of the sums, (m, width), of rows start to stop."""
    usual, _, _, _, patterns = code
    width, bits = delta.shape[1], usual.shape[0] * 8
    gradient, block = np.zeros((1 + bits + patterns.shape[0], width), np.float32), np.zeros((LANES, width), np.float32)
    places, found = np.empty((LANES, bits + 8), np.uint32), np.empty(LANES, np.int64)
    marks = np.empty(bits + patterns.shape[0], np.uint64)
    for first in range(start, stop, LANES):
        count = min(LANES, stop - first)
        for i in range(count):
            found[i] = differences(seen[first + i], code, places[i])
        mark_differences(places, found, count, marks)
        for i in range(LANES):
            for j in range(width):
                block[i, j] = delta[first + i, j] if i < count else np.float32(0)
        add_gradient(usual, marks, block, gradient[1:], gradient[0])
    share_patterns(code, gradient[1:])
    return gradient


_ONE_BITS = _BITS * np.uint16(0x3F80)
"""The bits of a byte as numbers 0 and 1 in bfloat16."""


@entry
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
