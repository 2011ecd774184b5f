"""Vector instructions compute what NumPy does, compiled and as plain Python, also where sizes are no multiples of a vector."""

from __future__ import annotations

import numpy as np
import pytest

from ludory.agents.networks.layers import vectors
from ludory.agents.networks.layers.bit_kernels import LANES, bit_code, layer, layer_gradient, usual_sums
from ludory.envs.engine.binding.cached_kernel import plain, source_hash

product, transpose, add_listed_rows, add_marked_rows = (
    vectors.entry(plain(kernel))
    for kernel in (vectors.add_product, vectors.transpose, vectors.add_listed_rows, vectors.add_marked_rows)
)
BOTH = pytest.mark.parametrize("how", [pytest.param("plain", marks=pytest.mark.plain), "compiled"])


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


@BOTH
@pytest.mark.parametrize(("n", "k", "m"), [(9, 5, 16), (8, 8, 40), (3, 7, 70)])
def test_products_and_transposes_of_any_size(how, n, k, m):
    a, b, out, turned = numbers(n, k), numbers(k, m), np.ones((n, m), np.float32), np.zeros((m, n), np.float32)
    product(a, b, out)
    np.testing.assert_allclose(out, 1 + a @ b, atol=1e-5)
    product(numbers(k, n).T, b, out)
    np.testing.assert_allclose(out, 1 + a @ b + numbers(k, n).T @ b, atol=1e-5)
    transpose(out, turned)
    assert (turned == out.T).all()


@BOTH
@pytest.mark.parametrize("width", [3, 16, 70, 144])
def test_sums_of_listed_and_of_marked_rows(how, width):
    matrix, marks = numbers(64, width), np.array([0, 1 << 63 | 5, 2**64 - 1], np.uint64)
    places = np.random.default_rng(0).integers(0, 64, (3, 9)).astype(np.uint32)
    found = np.array([0, 4, 9])
    listed, marked = (np.ones((3, width), np.float32) for _ in range(2))
    add_listed_rows(matrix, places, found, listed)
    add_marked_rows(matrix, marks, marked)
    for k in range(3):
        np.testing.assert_allclose(listed[k], 1 + matrix[places[k, : found[k]]].sum(0), atol=1e-4)
        chosen = [row for row in range(64) if int(marks[k]) >> row & 1]
        np.testing.assert_allclose(marked[k], 1 + matrix[chosen].sum(0), atol=1e-4)


def bits_that_go_together(rows: int, size: int) -> np.ndarray:
    """Packed rows (m, bytes) with bits that are usual, rare, and equal to others."""
    generator = np.random.default_rng(7)
    bits = generator.random((rows, size)) < 0.2 * generator.random(size)
    bits[:, size // 2 :] = (generator.random((rows, 1)) < 0.4) ^ (generator.random((rows, size - size // 2)) < 0.05)
    return np.packbits(bits, axis=1)


@pytest.mark.parametrize(
    "how", [pytest.param("plain", marks=pytest.mark.plain), pytest.param("compiled", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("patterns", [False, True])
def test_a_layer_over_bits_with_and_without_patterns(how, patterns):
    seen, width = bits_that_go_together(LANES + 9, 45), 20
    code = bit_code(seen, patterns)
    assert bool(len(code.patterns)) == patterns
    dense = np.unpackbits(seen, axis=1).astype(np.float32)
    weights, bias, delta = numbers(48, width), numbers(width), numbers(len(seen), width)
    signs = 1 - 2 * np.unpackbits(code.usual).astype(np.float32)[:, None]
    columns = np.concatenate([weights * signs, np.zeros((len(code.patterns), width), np.float32)])
    base, out = np.zeros(width, np.float32), np.zeros((len(seen), width), np.float32)
    usual_sums(columns, tuple(code), bias, base)
    layer(columns, base, tuple(code), seen, out, 0, len(seen))
    np.testing.assert_allclose(out, dense @ weights + bias, atol=1e-4)
    gradient = layer_gradient(seen, tuple(code), delta, 0, len(seen))
    np.testing.assert_allclose(gradient[0], delta.sum(0), atol=1e-4)
    np.testing.assert_allclose(gradient[1:49] * signs, dense.T @ delta, atol=1e-4)
    assert not gradient[49:].any()


def test_patterns_make_rows_shorter():
    seen = bits_that_go_together(500, 200)
    lengths = [
        sum(int(code.counts[code.lines[k, byte]]) for row in seen ^ code.usual for k, byte in enumerate(row))
        for code in (bit_code(seen, patterns=False), bit_code(seen))
    ]
    assert lengths[1] < 0.6 * lengths[0]


def test_code_that_uses_an_instruction_is_compiled_anew_when_the_instruction_changes(monkeypatch):
    @vectors.entry
    def user(a, out):
        vectors._transpose_eight(a, 0, 0, out)

    before = source_hash("", [user])
    assert source_hash("", [user]) == before
    monkeypatch.setattr("inspect.getsource", lambda _: "another source")
    assert source_hash("", [user]) != before
