"""`actor_critic_targets`: all that an actor-critic learns from, for one group of heads or several, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .returns import Steps, check_fraction, checked, ratios, td_lambda, thresholds, upgo, vtrace
from .targets_kernel import backward_pass

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
    gamma: float
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
    gamma: float,
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
        gamma: discount.
        lam: of TD(lambda), a number or [T, B].
        vtrace_lam: of V-trace's trace.
        rho_bar: clips the ratio in V-trace's temporal differences; None or NaN: no clipping.
        c_bar: clips the ratio along V-trace's trace.
        pg_rho_bar: clips the ratio of V-trace's policy gradient; UPGO's is always clipped at 1.
        pg_lambda: mix the successor of the policy gradient with vtrace_lam, as rlax does; False is the paper's.
        allow_c_above_rho: take c_bar > rho_bar, which V-trace's contraction does not cover.
        implementation: "kernel" is one compiled pass on the CPU, "scan" the functions of `returns` on any device; "auto"
            takes the first where it can.

    Raises:
        ValueError: as `returns.vtrace` and `returns.td_lambda`; "kernel" elsewhere than on the CPU.

    Source: arXiv 1802.01561; doi:10.1038/s41586-019-1724-z (Methods).
    """
    arrays = isinstance(log_rhos, np.ndarray)
    tensors = Steps(*map(_tensor, steps))
    settings = _Settings(gamma, _tensor(lam), vtrace_lam, rho_bar, c_bar, pg_rho_bar, pg_lambda, allow_c_above_rho)
    on_cpu = tensors.rewards.device.type == "cpu"
    if implementation == "kernel" and not on_cpu:
        raise ValueError(
            f"implementation='kernel' on {tensors.rewards.device}: it is for the CPU; use 'scan' or 'auto'"
        )
    method = _by_scan if implementation == "scan" or not on_cpu else _by_kernel
    found = method(tensors, _tensor(log_rhos), settings)
    return ActorCriticTargets(*(target.numpy() for target in found)) if arrays else found


def _tensor(x: Any) -> Any:
    """PyTorch takes neither read-only arrays nor negative strides."""
    return torch.from_numpy(np.require(x, requirements=["C", "W"])) if isinstance(x, np.ndarray) else x


def _by_scan(steps: Steps, log_rhos: Tensor, settings: _Settings) -> ActorCriticTargets:
    gamma, lam, vtrace_lam, *_ = settings
    check_fraction("vtrace_lam", vtrace_lam)
    limits = {name: getattr(settings, name) for name in _Settings._fields[3:]}
    vs, pg_advantages = vtrace(steps, log_rhos, gamma=gamma, lam=vtrace_lam, **limits)
    upgo_advantages, upgo_returns = upgo(steps, log_rhos, gamma=gamma)
    value_targets = td_lambda(steps, gamma=gamma, lam=lam)
    return ActorCriticTargets(vs, pg_advantages, value_targets, upgo_advantages, upgo_returns)


def _by_kernel(steps: Steps, log_rhos: Tensor, settings: _Settings) -> ActorCriticTargets:
    gamma, lam, vtrace_lam, rho_bar, c_bar, pg_rho_bar, pg_lambda, allow_c_above_rho = settings
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
