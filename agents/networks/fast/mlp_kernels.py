"""Forward and backward passes of an `MlpPolicy` over bits, compiled for one core: 64 rows side by side.

Between the layers an array is (features, 64), so that every product is one of `vectors.add_product`. The first layer is a sum over the
bits in which a row differs from the usual row, about 125 of 658 for Hanabi (`bit_kernels`). Weights, and gradients, are one float32 vector:

    for each layer behind the first one and each tower: weight (out, in), bias (out)
    logits weight (A, h), bias (A); value weight (h), bias (1)
    encoder bias (E); encoder columns (bytes * 8, E); room for columns of patterns, which are no weights

E = towers * hidden[0]. Columns of bits that are usual are stored with the other sign, so that a difference always adds.
`shape` is int64 (4 + depth,): bytes of a row, towers, A, 1 for tanh or 0 for ReLU, widths of the hidden layers.
"""

from __future__ import annotations

import numpy as np

from ludory.agents.networks.layers.bit_kernels import (
    LANES,
    add_columns,
    add_gradient,
    base_row,
    mark_differences,
    share_patterns,
)
from ludory.agents.networks.layers.vectors import add_product, called, entry, transpose
from ludory.envs.engine.binding.cached_kernel import plain

_LOG2_E = np.float32(1.4426950408889634)
# log 2 in two parts, of which the first has so few digits that its multiples are exact (Cody and Waite 1980)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1), np.float32(2)
# of (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2, fitted at Chebyshev's points
_C0, _C1, _C2 = np.float32(0.49999999), np.float32(0.16666577), np.float32(0.04166646)
_C3, _C4 = np.float32(0.00836318), np.float32(0.00139336)
_LOWEST, _HIGHEST = np.float32(-87), np.float32(88)


@called
def exp(x):  # type: ignore[no-untyped-def]
    """e^x in float32 to 2e-7, without a call, so that a loop over rows is a loop over vectors; of numbers beyond -87 and 88 as of these."""
    x = min(max(x, _LOWEST), _HIGHEST)
    whole = np.floor(x * _LOG2_E + _HALF)
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    part = _ONE + r + r * r * (_C0 + r * (_C1 + r * (_C2 + r * (_C3 + r * _C4))))
    # the power of two is an exponent's bits
    return part * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@called
def behind_count(shape):  # type: ignore[no-untyped-def]
    """How many weights are behind the encoder."""
    count = (shape[2] + 1) * (shape[-1] + 1)
    for layer in range(5, shape.shape[0]):
        count += shape[1] * (shape[layer] * shape[layer - 1] + shape[layer])
    return count


@called
def _columns(vector, shape):  # type: ignore[no-untyped-def]
    """The encoder's columns of a vector of weights or of their gradient, and its bias."""
    width, start = shape[1] * shape[4], behind_count(shape)
    return vector[start + width :].reshape(-1, width), vector[start : start + width]


@called
def encoder_base(weights, shape, code, out):  # type: ignore[no-untyped-def]
    """Write what the encoder gives for the usual row, (E,), and the columns of patterns."""
    columns, bias = _columns(weights, shape)
    base_row(columns, code, bias, out)


encoder_sums = entry(plain(encoder_base))


@called
def turn(weights, shape, turned):  # type: ignore[no-untyped-def]
    """Write the weights behind the encoder to the same places of `turned`, each with its axes exchanged, as `backward` reads them."""
    at = 0
    for layer in range(5, shape.shape[0]):
        for _ in range(shape[1]):
            at = _turn(weights, at, shape[layer], shape[layer - 1], turned)
    at = _turn(weights, at, shape[2], shape[-1], turned)
    _turn(weights, at, 1, shape[-1], turned)


@called
def _turn(weights, at, size, inner, turned):  # type: ignore[no-untyped-def]
    after = at + size * inner
    transpose(weights[at:after].reshape(size, inner), turned[at:after].reshape(inner, size))
    return after + size


@called
def encode(weights, shape, code, base, seen, order, work):  # type: ignore[no-untyped-def]
    """First layer of rows `order` (at most 64) of `seen` (m, bytes): fills `work.sums`, and which columns rows add."""
    sums, _, places, found = work
    columns, _ = _columns(weights, shape)
    count = order.shape[0]
    add_columns(columns, base, code, seen, order, places, found, sums[:count])
    # lanes without a row
    sums[count:] = 0


@called
def encoder_gradient(shape, code, count, work, delta, gradient):  # type: ignore[no-untyped-def]
    """Add the encoder's gradient of the `count` rows that were encoded last; `delta` (64, E) is that of its sums."""
    _, marks, places, found = work
    columns, bias = _columns(gradient, shape)
    mark_differences(places, found, count, marks)
    usual, _, _, _, _ = code
    add_gradient(usual, marks, delta, columns, bias)


@called
def share_gradient(shape, code, gradient):  # type: ignore[no-untyped-def]
    """Share the gradients of patterns' columns by their bits: the last part of a gradient."""
    columns, _ = _columns(gradient, shape)
    share_patterns(code, columns)


@called
def _activate(x, tanh):  # type: ignore[no-untyped-def]
    """ReLU or tanh of (N, 64), in place."""
    for n in range(x.shape[0]):
        row = x[n]
        if tanh:
            for i in range(LANES):
                row[i] = _ONE - _TWO / (exp(row[i] + row[i]) + _ONE)
        else:
            for i in range(LANES):
                row[i] = max(row[i], np.float32(0))


@called
def _deactivate(delta, x, tanh):  # type: ignore[no-untyped-def]
    """Gradient before the activation from that behind it (N, 64), in place; `x` is what came out."""
    for n in range(x.shape[0]):
        d, row = delta[n], x[n]
        # 1 - tanh^2, of what came out
        if tanh:
            for i in range(LANES):
                d[i] *= np.float32(1) - row[i] * row[i]
        else:
            for i in range(LANES):
                d[i] = d[i] if row[i] > 0 else np.float32(0)


@called
def forward(weights, shape, sums, x, out):  # type: ignore[no-untyped-def]
    """All layers behind the encoder's `sums` (64, E).

    Fills `x` (towers * sum(hidden), 64), activations layer by layer and tower by tower, and `out` (A + 1, 64), logits and value.
    """
    towers, actions, tanh, width = shape[1], shape[2], shape[3] == 1, shape[1] * shape[4]
    transpose(sums, x[:width])
    _activate(x[:width], tanh)
    at, below, here = 0, 0, width
    for layer in range(5, shape.shape[0]):
        inner, size = shape[layer - 1], shape[layer]
        for _ in range(towers):
            at = _layer(weights, at, x[below : below + inner], x[here : here + size])
            _activate(x[here : here + size], tanh)
            below, here = below + inner, here + size
    inner = shape[-1]
    # logits from the first tower, the value from the last one, which may be the same
    at = _layer(weights, at, x[below : below + inner], out[:actions])
    _layer(weights, at, x[here - inner : here], out[actions:])


@called
def _layer(weights, at, x, out):  # type: ignore[no-untyped-def]
    """Write weight @ x + bias of the layer that begins at `at`; returns where the next one begins."""
    size, inner = out.shape[0], x.shape[0]
    after = at + size * inner
    for n in range(size):
        out[n] = weights[after + n]
    add_product(weights[at:after].reshape(size, inner), x, out)
    return after + size


@called
def backward(turned, shape, x, d_out, d_x, rows, d_sums, gradient):  # type: ignore[no-untyped-def]
    """Add the gradient of all layers behind the encoder to `gradient`, and write that of its sums to `d_sums` (64, E).

    d_out: (A + 1, 64), of logits and value. rows: scratch (64, widest hidden layer).
    """
    towers, actions, tanh, width = shape[1], shape[2], shape[3] == 1, shape[1] * shape[4]
    d_x[:] = 0
    here, inner = x.shape[0], shape[-1]
    # from the end: the last layer is that of the value
    at = behind_count(shape) - inner - 1
    _layer_gradient(turned, at, x[here - inner :], d_out[actions:], d_x[here - inner :], rows, gradient)
    at -= actions * (inner + 1)
    first = here - towers * inner
    _layer_gradient(turned, at, x[first : first + inner], d_out[:actions], d_x[first : first + inner], rows, gradient)
    for layer in range(shape.shape[0] - 1, 4, -1):
        size, inner = shape[layer], shape[layer - 1]
        _deactivate(d_x[here - towers * size : here], x[here - towers * size : here], tanh)
        start = here - towers * size
        below = start - towers * inner
        for tower in range(towers - 1, -1, -1):
            at -= size * (inner + 1)
            source, own = below + tower * inner, start + tower * size
            x_in, d_in = x[source : source + inner], d_x[source : source + inner]
            _layer_gradient(turned, at, x_in, d_x[own : own + size], d_in, rows, gradient)
        here = start
    _deactivate(d_x[:width], x[:width], tanh)
    transpose(d_x[:width], d_sums)


@called
def _layer_gradient(turned, at, x, d_out, d_x, rows, gradient):  # type: ignore[no-untyped-def]
    """Add the gradient of the layer that begins at `at`, and that of its input to `d_x`."""
    size, inner = d_out.shape[0], x.shape[0]
    after = at + size * inner
    for n in range(size):
        row, total = d_out[n], np.float32(0)
        for i in range(LANES):
            total += row[i]
        gradient[after + n] += total
    transpose(x, rows[:, :inner])
    add_product(d_out, rows[:, :inner], gradient[at:after].reshape(size, inner))
    add_product(turned[at:after].reshape(inner, size), d_out, d_x)


@entry
def outputs(weights, shape, code, base, seen, logits, values, work, start, stop):  # type: ignore[no-untyped-def]
    """Write logits (m, A) and values (m,) of rows start to stop of `seen` (m, bytes)."""
    encoder, x, out = work[0], work[1], work[3]
    actions = logits.shape[1]
    for first in range(start, stop, LANES):
        rows = np.arange(first, min(first + LANES, stop))
        encode(weights, shape, code, base, seen, rows, encoder)
        forward(weights, shape, encoder[0], x, out)
        for i in range(rows.shape[0]):
            for a in range(actions):
                logits[first + i, a] = out[a, i]
            values[first + i] = out[actions, i]
