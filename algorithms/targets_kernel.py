# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""All targets of an actor-critic in one backward pass over time, compiled for the CPU; columns are worked on 64 at a time.

Every quantity of a row has a loop of its own over the block's columns: loops that write one array each become vector code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LANES = 64
"""Columns of a block: what a row needs of the row after it stays in the fastest cache."""
# No `fastmath`: UPGO compares q with V, and NaN may stand wherever nothing may be read.
_FLAGS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_FLAGS)
def backward_pass(steps, rhos, lams, scalars, out):
    """Write V-trace, its advantages, TD(lambda), and UPGO with its advantages.

    steps: rewards, values, next_values [T, B] float; terminated, truncated, valid [T, B] bool.
    rhos: [G, T, B] ratios of each group, not clipped.
    lams: [T, B] or [1, B], of TD(lambda).
    scalars: gamma, V-trace's lambda, the one that mixes the successor of its policy gradient, and the limits of the ratio in
        temporal differences, along the trace and of the policy gradient.
    out: vs and pg_advantages [G, T, B], value_targets [T, B], upgo_advantages [G, T, B], upgo_returns [T, B].
    """
    rewards, values, next_values, terminated, truncated, valid = steps
    vs, pg_advantages, value_targets, upgo_advantages, upgo_returns = out
    groups, length, columns = rhos.shape
    dtype, gamma = rewards.dtype, scalars[0]
    zero, one = dtype.type(0), dtype.type(1)
    lanes = min(LANES, columns)
    cut, worse = np.empty(lanes, np.bool_), np.empty(lanes, np.bool_)
    successor, discount, q = np.empty(lanes, dtype), np.empty(lanes, dtype), np.empty(lanes, dtype)
    target, upgoing, policy = np.empty(lanes, dtype), np.empty(lanes, dtype), np.empty(lanes, dtype)
    corrections = np.empty((groups, lanes), dtype)  # vs - V
    for first in range(0, columns, LANES):
        block = slice(first, min(first + LANES, columns))
        width = block.stop - block.start
        # What the row after would hand over; after the last one comes nothing.
        target[:], upgoing[:], corrections[:], worse[:] = zero, zero, zero, True
        for t in range(length - 1, -1, -1):
            reward, value, following = rewards[t, block], values[t, block], next_values[t, block]
            ended, known = terminated[t, block], valid[t, block]
            _cuts(ended, truncated[t, block], valid[min(t + 1, length - 1), block], t == length - 1, cut)
            for i in range(width):
                found = following[i]
                successor[i] = zero if ended[i] else found
            for i in range(width):
                discount[i] = zero if ended[i] else gamma
            _td_lambda(reward, value, known, successor, discount, cut, lams[min(t, len(lams) - 1), block], target)
            _upgo(reward, value, known, successor, discount, cut, worse, upgoing)
            for i in range(width):
                q[i] = reward[i] + discount[i] * successor[i]
            later = values[min(t + 1, length - 1), block]
            for g in range(groups):
                rho, correction, corrected = rhos[g, t, block], corrections[g], vs[g, t, block]
                _policy_returns(reward, successor, discount, cut, later, correction, scalars, policy)
                _advantages(value, known, rho, policy, scalars[5], pg_advantages[g, t, block])
                _advantages(value, known, rho, upgoing, one, upgo_advantages[g, t, block])
                _corrections(value, known, rho, q, cut, scalars, correction)
                for i in range(width):
                    corrected[i] = value[i] + correction[i]
            for i in range(width):  # read by the row before
                worse[i] = q[i] < value[i]
            value_targets[t, block] = target[:width]
            upgo_returns[t, block] = upgoing[:width]


@njit(**_FLAGS)
def _cuts(ended, stopped, follows, last, cut):
    """Nothing flows over from the row after."""
    for i in range(len(ended)):
        cut[i] = ended[i] | stopped[i] | last | (not follows[i])


@njit(**_FLAGS)
def _td_lambda(reward, value, known, successor, discount, cut, lam, target):
    """Target of the row from that of the row after, in place."""
    one = reward.dtype.type(1)
    for i in range(len(reward)):
        end, own = successor[i], value[i]
        mixed = (one - lam[i]) * end + lam[i] * target[i]
        found = reward[i] + discount[i] * (end if cut[i] else mixed)
        target[i] = found if known[i] else own


@njit(**_FLAGS)
def _upgo(reward, value, known, successor, discount, cut, worse, upgoing):
    """Return of the row from that of the row after, in place; `worse`: the row after does worse than V."""
    for i in range(len(reward)):
        end, after, own = successor[i], upgoing[i], value[i]
        found = reward[i] + discount[i] * (end if cut[i] | worse[i] else after)
        upgoing[i] = found if known[i] else own


@njit(**_FLAGS)
def _policy_returns(reward, successor, discount, cut, later, correction, scalars, out):
    """What V-trace's policy gradient compares V with, from V and vs - V of the row after."""
    one, mix = reward.dtype.type(1), scalars[2]
    for i in range(len(reward)):
        end, after = successor[i], later[i] + correction[i]
        out[i] = reward[i] + discount[i] * (mix * (end if cut[i] else after) + (one - mix) * end)


@njit(**_FLAGS)
def _corrections(value, known, rho, q, cut, scalars, correction):
    """Write vs - V of the row, from that of the row after, in place."""
    zero, trace, rho_bar, c_bar = value.dtype.type(0), scalars[0] * scalars[1], scalars[3], scalars[4]
    for i in range(len(value)):
        flow = trace * min(c_bar, rho[i]) * correction[i]
        found = min(rho_bar, rho[i]) * (q[i] - value[i]) + (zero if cut[i] else flow)
        correction[i] = found if known[i] else zero


@njit(**_FLAGS)
def _advantages(value, known, rho, returns, limit, out):
    """Advantages of returns, under a clipped ratio."""
    zero = value.dtype.type(0)
    for i in range(len(value)):
        found = min(limit, rho[i]) * (returns[i] - value[i])
        out[i] = found if known[i] else zero
