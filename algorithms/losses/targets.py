# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""`actor_critic_targets`: all that an actor-critic learns from, for one group of heads or several, in one call.

The definition is `_by_definition`: four functions of `returns`, on any device. `backward_pass` is its twin, compiled for the CPU: one
pass over time for everything, columns worked on 64 at a time. tests/algorithms/losses/test_targets.py holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.envs.engine.binding.cached_kernel import cached_kernel
from ludory.envs.engine.binding.linked_kernel import linked_kernel
from ludory.envs.engine.kernel_engine import few_steps_asked

from .returns import Steps, check_fraction, checked, ratios, td_lambda, thresholds, upgo, vtrace

LANES = 64
"""Columns of a block of the compiled twin: what a row needs of the row after it stays in the fastest cache."""
# No `fastmath`: UPGO compares q with V, and NaN may stand wherever nothing may be read.
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

Array = Any
"""A tensor, or a NumPy array where the steps are NumPy arrays."""


class ActorCriticTargets(NamedTuple):
    """Targets and advantages without gradients; on rows that are not valid, V and 0."""

    vs: Array
    """As log_rhos: V-trace's corrected values."""
    pg_advantages: Array
    """As log_rhos: of V-trace's policy gradient."""
    value_targets: Array
    """[T, B]: TD(lambda), without correction."""
    upgo_advantages: Array
    """As log_rhos."""
    upgo_returns: Array
    """[T, B]."""


class _Settings(NamedTuple):
    gamma: float | Tensor
    lam: float | Tensor
    vtrace_lam: float
    rho_bar: float | None
    c_bar: float | None
    pg_rho_bar: float | None
    pg_lambda: bool
    allow_c_above_rho: bool


def actor_critic_targets(
    steps: Steps | Sequence[NDArray[Any] | None],
    log_rhos: Array,
    *,
    gamma: float | Array,
    lam: float | Array,
    vtrace_lam: float = 1.0,
    rho_bar: float | None = 1.0,
    c_bar: float | None = 1.0,
    pg_rho_bar: float | None = 1.0,
    pg_lambda: bool = False,
    allow_c_above_rho: bool = False,
    implementation: Literal["auto", "kernel", "scan"] = "auto",
) -> ActorCriticTargets:
    """V-trace with its advantages, TD(lambda) and UPGO.

    Args:
        steps: [T, B]; tensors on one device, or the fields of `Steps` as NumPy arrays.
        log_rhos: [T, B], or [T, B, G] for G groups of heads: log pi(a|s) - log mu(a|s).
        gamma: discount, a number or [T, B].
        lam: of TD(lambda), a number or [T, B].
        vtrace_lam: of V-trace's trace.
        rho_bar: clips the ratio in V-trace's temporal differences; None or NaN: no clipping.
        c_bar: clips the ratio along V-trace's trace.
        pg_rho_bar: clips the ratio of V-trace's policy gradient; UPGO's is always clipped at 1.
        pg_lambda: mix the successor of the policy gradient with vtrace_lam, as rlax does; False is the paper's.
        allow_c_above_rho: take c_bar > rho_bar, which V-trace's contraction does not cover.
        implementation: "scan" is the definition, "kernel" its compiled twin, for the CPU and one discount for all rows; "auto"
            runs the twin where it can and, outside of `few_steps`, where it pays to compile it.

    Raises:
        ValueError: as `returns.vtrace` and `returns.td_lambda`; "kernel" on another device or with a discount per row.

    Source: arXiv 1802.01561; doi:10.1038/s41586-019-1724-z (Methods).
    """
    arrays = isinstance(log_rhos, np.ndarray)
    tensors = Steps(*map(_tensor, steps))
    settings = _Settings(
        _tensor(gamma), _tensor(lam), vtrace_lam, rho_bar, c_bar, pg_rho_bar, pg_lambda, allow_c_above_rho
    )
    on_cpu, one_discount = tensors.rewards.device.type == "cpu", not isinstance(settings.gamma, Tensor)
    if implementation == "kernel" and not on_cpu:
        raise ValueError(
            f"implementation='kernel' on {tensors.rewards.device}: it is for the CPU; use 'scan' or 'auto'"
        )
    if implementation == "kernel" and not one_discount:
        raise ValueError("implementation='kernel' with gamma [T, B]: it takes one number; use 'scan' or 'auto'")
    if implementation == "auto":
        implementation = "kernel" if on_cpu and one_discount and not few_steps_asked() else "scan"
    method = _by_definition if implementation == "scan" else _by_twin
    found = method(tensors, _tensor(log_rhos), settings)
    return ActorCriticTargets(*(target.numpy() for target in found)) if arrays else found


def _tensor(x: Any) -> Any:
    """PyTorch takes neither read-only arrays nor negative strides."""
    return torch.from_numpy(np.require(x, requirements=["C", "W"])) if isinstance(x, np.ndarray) else x


def _by_definition(steps: Steps, log_rhos: Tensor, settings: _Settings) -> ActorCriticTargets:
    gamma, lam, vtrace_lam, *_ = settings
    check_fraction("vtrace_lam", vtrace_lam)
    limits = {name: getattr(settings, name) for name in _Settings._fields[3:]}
    vs, pg_advantages = vtrace(steps, log_rhos, gamma=gamma, lam=vtrace_lam, **limits)
    upgo_advantages, upgo_returns = upgo(steps, log_rhos, gamma=gamma)
    value_targets = td_lambda(steps, gamma=gamma, lam=lam)
    return ActorCriticTargets(vs, pg_advantages, value_targets, upgo_advantages, upgo_returns)


def _by_twin(steps: Steps, log_rhos: Tensor, settings: _Settings) -> ActorCriticTargets:
    """`_by_definition` by `backward_pass`."""
    gamma, lam, vtrace_lam, rho_bar, c_bar, pg_rho_bar, pg_lambda, allow_c_above_rho = settings
    assert not isinstance(gamma, Tensor)
    check_fraction("vtrace_lam", vtrace_lam)
    rewards, values, next_values, *flags = checked(steps, gamma, lam)
    limits = thresholds(rho_bar, c_bar, pg_rho_bar, allow_c_above_rho)
    by_group = ratios(log_rhos, rewards, flags[-1]).reshape(*rewards.shape, -1).permute(2, 0, 1)  # columns side by side
    dtype = torch.promote_types(rewards.dtype, torch.promote_types(values.dtype, next_values.dtype))
    fields = [_numpy(x.to(dtype)) for x in (rewards, values, next_values)] + [_numpy(x) for x in flags]
    rhos = _numpy(by_group.to(dtype))
    lams = _numpy(lam.to(dtype)) if isinstance(lam, Tensor) else np.full((1, rewards.shape[1]), lam, rhos.dtype)
    scalars = gamma, vtrace_lam, vtrace_lam if pg_lambda else 1.0, *limits
    out = [np.empty_like(x) for x in (rhos, rhos, fields[0], rhos, fields[0])]
    backward_pass(tuple(fields), rhos, lams, tuple(map(rhos.dtype.type, scalars)), tuple(out))
    found = map(torch.from_numpy, out)
    return ActorCriticTargets(*(x.permute(1, 2, 0).reshape(log_rhos.shape) if x.ndim == 3 else x for x in found))


def _numpy(x: Tensor) -> NDArray[Any]:
    return x.contiguous().numpy()


@cached_kernel(**_FLAGS)
def backward_pass(steps, rhos, lams, scalars, out):
    """Write V-trace, its advantages, TD(lambda), and UPGO with its advantages: the twin of `_by_definition`.

    Every quantity of a row has a loop of its own over the block's columns: loops that write one array each become vector code.

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
            # in the last row `cut` keeps it from being read
            later = values[min(t + 1, length - 1), block]
            for g in range(groups):
                rho, correction, corrected = rhos[g, t, block], corrections[g], vs[g, t, block]
                # before `_corrections`, which overwrites the vs - V of the row after
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


@linked_kernel(**_FLAGS)
def _cuts(ended, stopped, follows, last, cut):
    """Nothing flows over from the row after."""
    for i in range(len(ended)):
        cut[i] = ended[i] | stopped[i] | last | (not follows[i])


@linked_kernel(**_FLAGS)
def _td_lambda(reward, value, known, successor, discount, cut, lam, target):
    """Target of the row from that of the row after, in place."""
    one = reward.dtype.type(1)
    for i in range(len(reward)):
        end, own = successor[i], value[i]
        mixed = (one - lam[i]) * end + lam[i] * target[i]
        found = reward[i] + discount[i] * (end if cut[i] else mixed)
        target[i] = found if known[i] else own


@linked_kernel(**_FLAGS)
def _upgo(reward, value, known, successor, discount, cut, worse, upgoing):
    """Return of the row from that of the row after, in place; `worse`: the row after does worse than V."""
    for i in range(len(reward)):
        end, after, own = successor[i], upgoing[i], value[i]
        found = reward[i] + discount[i] * (end if cut[i] | worse[i] else after)
        upgoing[i] = found if known[i] else own


@linked_kernel(**_FLAGS)
def _policy_returns(reward, successor, discount, cut, later, correction, scalars, out):
    """What V-trace's policy gradient compares V with, from V and vs - V of the row after."""
    one, mix = reward.dtype.type(1), scalars[2]
    for i in range(len(reward)):
        end, after = successor[i], later[i] + correction[i]
        out[i] = reward[i] + discount[i] * (mix * (end if cut[i] else after) + (one - mix) * end)


@linked_kernel(**_FLAGS)
def _corrections(value, known, rho, q, cut, scalars, correction):
    """Write vs - V of the row, from that of the row after, in place."""
    zero, trace, rho_bar, c_bar = value.dtype.type(0), scalars[0] * scalars[1], scalars[3], scalars[4]
    for i in range(len(value)):
        flow = trace * min(c_bar, rho[i]) * correction[i]
        found = min(rho_bar, rho[i]) * (q[i] - value[i]) + (zero if cut[i] else flow)
        correction[i] = found if known[i] else zero


@linked_kernel(**_FLAGS)
def _advantages(value, known, rho, returns, limit, out):
    """Advantages of returns, under a clipped ratio."""
    zero = value.dtype.type(0)
    for i in range(len(value)):
        found = min(limit, rho[i]) * (returns[i] - value[i])
        out[i] = found if known[i] else zero
