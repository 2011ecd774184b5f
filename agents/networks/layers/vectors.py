"""Vector instructions for compiled kernels: what Numba's own loops do not become.

A loop that Numba compiles keeps its sums in memory whenever an array may overlap another one, and asks at each call which do. Here sums
stay in registers: each function below is written out in LLVM's instructions, for vectors of sixteen numbers, which LLVM splits into those
that a processor has. Arrays are float32 and lie side by side along their last axis.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.cpu import CPUContext
from numba.extending import intrinsic

from ludory.envs.engine.binding.cached_kernel import cached_kernel
from ludory.envs.engine.binding.linked_kernel import linked_kernel
from ludory.envs.engine.binding.plain_kernels import PLAIN

_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": True}
called = linked_kernel(**_FLAGS)
"""Decorator of kernels that kernels call, within whose module they are compiled: a copy of their own would round otherwise, and which
copy is called would depend on whether this process compiled it or read it from the cache."""
entry = cached_kernel(**_FLAGS)
"""Decorator of kernels that Python calls."""
WIDTH = 16
"""Numbers of a vector."""
TILE = 4
"""Rows of a product, or vectors of a sum, that are worked on together: as many sums as the registers of any processor hold."""
DEPTH = 64
"""Terms of a product's sums that are added before the next sums begin."""
_FLOAT, _BYTE, _INT = ir.FloatType(), ir.IntType(8), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, WIDTH)
_FAST = ("fast",)


def _instruction(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for an intrinsic of Numba; where kernels run as plain Python, `plain` takes its place."""

    def made(definition: Callable[..., Any]) -> Any:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return plain
        found: Any = intrinsic(definition)
        setattr(found, PLAIN, plain)
        return found

    return made


class _Array:
    """An array within the code that is being built; places in it are counted in bytes."""

    def __init__(self, context: CPUContext, builder: ir.IRBuilder, kind: types.Array, value: ir.Value) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.shape = builder, cgutils.unpack_tuple(builder, array.shape)
        self.strides = cgutils.unpack_tuple(builder, array.strides)
        self._start = builder.bitcast(array.data, _BYTE.as_pointer())

    def _pointer(self, place: ir.Value, kind: ir.Type) -> ir.Value:
        return self.builder.bitcast(self.builder.gep(self._start, [place]), kind.as_pointer())

    def load(self, place: ir.Value, kind: ir.Type = _VECTOR, align: int = 4) -> ir.Value:
        value = self.builder.load(self._pointer(place, kind))
        value.align = align
        return value

    def store(self, value: ir.Value, place: ir.Value) -> None:
        self.builder.store(value, self._pointer(place, value.type)).align = 4


def _product_tile(rows: int) -> Any:
    """Add a[n : n + rows] @ b[:, j : j + 16] to out[n : n + rows, j : j + 16]."""

    def plain(a, n, b, j, out):
        a, b, out = map(np.asarray, (a, b, out))
        out[n : n + rows, j : j + WIDTH] += a[n : n + rows] @ b[:, j : j + WIDTH]

    @_instruction(plain)
    def product_tile(typing, a, n, b, j, out):
        def build(context, builder, signature, args):
            left, right, sums = (_Array(context, builder, signature.args[k], args[k]) for k in (0, 2, 4))
            across = builder.mul(args[3], _INT(4))
            numbers = [builder.add(args[1], _INT(k)) for k in range(rows)]
            places = [builder.add(builder.mul(number, sums.strides[0]), across) for number in numbers]
            starts = [builder.mul(number, left.strides[0]) for number in numbers]
            # places on the stack, which LLVM turns into registers
            totals = [cgutils.alloca_once_value(builder, sums.load(place)) for place in places]
            with cgutils.for_range(builder, left.shape[1]) as loop:
                # one vector of `b` serves all rows
                column = builder.mul(loop.index, left.strides[1])
                vector = right.load(builder.add(builder.mul(loop.index, right.strides[0]), across))
                for start, total in zip(starts, totals, strict=True):
                    number = left.load(builder.add(start, column), _FLOAT)
                    # one instruction where a processor multiplies and adds in one
                    added = builder.fmul(_repeated(builder, number), vector, flags=_FAST)
                    builder.store(builder.fadd(builder.load(total), added, flags=_FAST), total)
            for place, total in zip(places, totals, strict=True):
                sums.store(builder.load(total), place)
            return context.get_dummy_value()

        return types.void(a, types.int64, b, types.int64, out), build

    return product_tile


def _repeated(builder: ir.IRBuilder, number: ir.Value, kind: ir.Type = _VECTOR) -> ir.Value:
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None))


_tile, _row = _product_tile(TILE), _product_tile(1)


@called
def add_product(a, b, out):
    """Add a (N, K) @ b (K, M) to `out` (N, M)."""
    rows, columns = out.shape
    whole_rows, whole = rows - rows % TILE, columns - columns % WIDTH
    # so many rows of `b` that 16 of their columns stay in the nearest cache while all rows of `a` pass
    for first in range(0, b.shape[0], DEPTH):
        left, right = a[:, first : first + DEPTH], b[first : first + DEPTH]
        for j in range(0, whole, WIDTH):
            for n in range(0, whole_rows, TILE):
                _tile(left, n, right, j, out)
            for n in range(whole_rows, rows):
                _row(left, n, right, j, out)
    for n in range(rows):
        for j in range(whole, columns):
            total = np.float32(0)
            for k in range(b.shape[0]):
                total += a[n, k] * b[k, j]
            out[n, j] += total


class _Sums:
    """A part of an array of sums, `vectors` vectors from column `j` on, that is kept in registers until `store`."""

    def __init__(self, array: _Array, j: ir.Value, vectors: int) -> None:
        self.array, self.builder = array, array.builder
        first = self.builder.mul(j, _INT(4))
        self.places = [self.builder.add(first, _INT(4 * WIDTH * k)) for k in range(vectors)]
        self.totals = [cgutils.alloca_once_value(self.builder, array.load(place)) for place in self.places]

    def add(self, matrix: _Array, row: ir.Value) -> None:
        """Add the same columns of a row of `matrix`."""
        start = self.builder.mul(row, matrix.strides[0])
        for place, total in zip(self.places, self.totals, strict=True):
            number = matrix.load(self.builder.add(start, place))
            self.builder.store(self.builder.fadd(self.builder.load(total), number, flags=_FAST), total)

    def store(self) -> None:
        for place, total in zip(self.places, self.totals, strict=True):
            self.array.store(self.builder.load(total), place)


def _listed(vectors: int) -> Any:
    """Add rows places[:found] (uint32) of `matrix` to `out`, both from column j to j + 16 * vectors."""

    def plain(matrix, places, found, j, out):
        columns = slice(int(j), int(j) + vectors * WIDTH)
        np.asarray(out)[columns] += np.asarray(matrix)[np.asarray(places)[:found], columns].sum(0)

    @_instruction(plain)
    def add_listed(typing, matrix, places, found, j, out):
        def build(context, builder, signature, args):
            rows, which, sums = (_Array(context, builder, signature.args[k], args[k]) for k in (0, 1, 4))
            totals = _Sums(sums, args[3], vectors)
            with cgutils.for_range(builder, args[2]) as loop:
                row = which.load(builder.mul(loop.index, _INT(4)), ir.IntType(32))
                totals.add(rows, builder.zext(row, _INT))
            totals.store()
            return context.get_dummy_value()

        return types.void(matrix, places, types.int64, types.int64, out), build

    return add_listed


def _marked(vectors: int) -> Any:
    """Add the rows of `matrix` whose bits are set in `marks` to `out`, both from column j to j + 16 * vectors."""

    def plain(matrix, marks, j, out):
        columns = slice(int(j), int(j) + vectors * WIDTH)
        rows = [row for row in range(64) if int(marks) >> row & 1]
        np.asarray(out)[columns] += np.asarray(matrix)[rows, columns].sum(0)

    @_instruction(plain)
    def add_marked(typing, matrix, marks, j, out):
        def build(context, builder, signature, args):
            rows, sums = (_Array(context, builder, signature.args[k], args[k]) for k in (0, 3))
            totals, left = _Sums(sums, args[2], vectors), cgutils.alloca_once_value(builder, args[1])
            # while marks are left, add the row of the lowest one and take it off
            head, body, end = (builder.append_basic_block(name) for name in ("marks", "mark", "no_mark"))
            builder.branch(head)
            builder.position_at_end(head)
            marks = builder.load(left)
            builder.cbranch(builder.icmp_unsigned("!=", marks, _INT(0)), body, end)
            builder.position_at_end(body)
            builder.store(builder.and_(marks, builder.sub(marks, _INT(1))), left)
            totals.add(rows, builder.cttz(marks, ir.IntType(1)(1)))
            builder.branch(head)
            builder.position_at_end(end)
            totals.store()
            return context.get_dummy_value()

        return types.void(matrix, types.uint64, types.int64, out), build

    return add_marked


_add_listed, _add_listed_vector = _listed(TILE), _listed(1)
_add_marked, _add_marked_vector = _marked(TILE), _marked(1)


@called
def add_listed_rows(matrix, places, found, out):
    """Add to each row k of `out` (n, width) the rows places[k, :found[k]] (uint32) of `matrix` (m, width)."""
    width = out.shape[1]
    whole, vectors = width - width % (TILE * WIDTH), width - width % WIDTH
    # a part of the columns for all rows, since a part of the matrix fits into a nearer cache than all of it
    for j in range(0, whole, TILE * WIDTH):
        for k in range(out.shape[0]):
            _add_listed(matrix, places[k], found[k], j, out[k])
    for j in range(whole, vectors, WIDTH):
        for k in range(out.shape[0]):
            _add_listed_vector(matrix, places[k], found[k], j, out[k])
    if vectors < width:
        for k in range(out.shape[0]):
            for t in range(found[k]):
                row = places[k, t]
                for j in range(vectors, width):
                    out[k, j] += matrix[row, j]


@called
def add_marked_rows(matrix, marks, out):
    """Add to each row k of `out` (n, width) the rows of `matrix` (64, width) whose bits are set in marks[k] (uint64)."""
    width = out.shape[1]
    whole, vectors = width - width % (TILE * WIDTH), width - width % WIDTH
    for j in range(0, whole, TILE * WIDTH):
        for k in range(out.shape[0]):
            _add_marked(matrix, marks[k], j, out[k])
    for j in range(whole, vectors, WIDTH):
        for k in range(out.shape[0]):
            _add_marked_vector(matrix, marks[k], j, out[k])
    if vectors < width:
        for k in range(out.shape[0]):
            # the same for columns that fill no vector
            left = marks[k]
            while left:
                row = lowest_one(left)
                left &= left - np.uint64(1)
                for j in range(vectors, width):
                    out[k, j] += matrix[row, j]


def _plain_lowest_one(word):
    return (int(word) & -int(word)).bit_length() - 1


@_instruction(_plain_lowest_one)
def lowest_one(typing, word):
    """Number of the lowest bit of a word (uint64, not 0) that is set."""

    def build(context, builder, signature, args):
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.uint64), build


def _plain_list(row, usual, lines, places, counts, out):
    row, usual, lines, places, counts, out = map(np.asarray, (row, usual, lines, places, counts, out))
    count = 0
    for k, byte in enumerate(row ^ usual):
        line = lines[k, byte]
        out[count : count + 8] = 8 * k + places[line]
        # the next byte overwrites what is none
        count += int(counts[line])
    return count


@_instruction(_plain_list)
def list_columns(typing, row, usual, lines, places, counts, out):
    """Write the columns that a packed row adds to the usual one, with the tables of a `BitCode`; returns how many.

    Eight are written for each byte, of which the next one overwrites those that are none: a branch would be foretold wrongly too often.
    """

    def build(context, builder, signature, args):
        arrays = [_Array(context, builder, kind, value) for kind, value in zip(signature.args, args, strict=True)]
        own, other, table, which, sizes, out = arrays
        kind, number = ir.VectorType(ir.IntType(32), 8), ir.IntType(32)
        count = cgutils.alloca_once_value(builder, _INT(0))
        with cgutils.for_range(builder, own.shape[0]) as loop:
            k = loop.index
            # the bits in which the byte differs
            byte = builder.zext(builder.xor(own.load(k, _BYTE, 1), other.load(k, _BYTE, 1)), _INT)
            at = builder.add(builder.mul(k, table.strides[0]), builder.mul(byte, _INT(2)))
            line = builder.zext(table.load(at, ir.IntType(16), 2), _INT)
            first = builder.trunc(builder.mul(k, _INT(8)), number)
            found = builder.add(which.load(builder.mul(line, _INT(32)), kind), _repeated(builder, first, kind))
            before = builder.load(count)
            out.store(found, builder.mul(before, _INT(4)))
            builder.store(builder.add(before, sizes.load(builder.mul(line, _INT(8)), _INT, 8)), count)
        return builder.load(count)

    return types.int64(row, usual, lines, places, counts, out), build


def _plain_transpose(a, i, j, out):
    np.asarray(out)[j : j + 8, i : i + 8] = np.asarray(a)[i : i + 8, j : j + 8].T


@_instruction(_plain_transpose)
def _transpose_eight(typing, a, i, j, out):
    """Write a[i : i + 8, j : j + 8] to out[j : j + 8, i : i + 8] with its axes exchanged."""

    def build(context, builder, signature, args):
        source, target = (_Array(context, builder, signature.args[k], args[k]) for k in (0, 3))
        kind = ir.VectorType(_FLOAT, 8)

        def place(array, row, column):
            return builder.add(builder.mul(row, array.strides[0]), builder.mul(column, _INT(4)))

        rows = [source.load(place(source, builder.add(args[1], _INT(k)), args[2]), kind) for k in range(8)]
        # three times, rows that are `step` apart exchange blocks of `step` columns
        for step in (1, 2, 4):
            low = [k + 8 - step if k & step else k for k in range(8)]
            high = [k + 8 if k & step else k + step for k in range(8)]
            masks = [ir.Constant(ir.VectorType(ir.IntType(32), 8), mask) for mask in (low, high)]
            for k in range(8):
                if not k & step:
                    pair = rows[k], rows[k + step]
                    rows[k], rows[k + step] = (builder.shuffle_vector(*pair, mask) for mask in masks)
        for k in range(8):
            target.store(rows[k], place(target, builder.add(args[2], _INT(k)), args[1]))
        return context.get_dummy_value()

    return types.void(a, types.int64, types.int64, out), build


@called
def transpose(a, out):
    """Write `a` (N, M) to `out` (M, N) with its axes exchanged."""
    rows, columns = a.shape
    whole_rows, whole = rows - rows % 8, columns - columns % 8
    for i in range(0, whole_rows, 8):
        for j in range(0, whole, 8):
            _transpose_eight(a, i, j, out)
    # what is left at the right and at the bottom
    for i in range(rows):
        for j in range(whole if i < whole_rows else 0, columns):
            out[j, i] = a[i, j]
