"""Returns and advantages over time-major arrays [T, B]. No learner computes a return anywhere else.

`rewards[t]` follows the action taken at t; `values[t]` = V(s_t); `next_values[t]` = V of the true successor: values[t+1] inside
an episode, the bootstrap value in the last row, the value of the final observation where the episode was truncated; it is
never read where `terminated`. `terminated` stops bootstrapping; `truncated` bootstraps and cuts the trace; rows that are not
`valid` are padding: there returns equal values and advantages are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Gae(NamedTuple):
    """Advantages and the returns they add up to, both [T, B], without gradients."""

    advantages: Tensor
    returns: Tensor


def gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    valid: Tensor | None = None,
    *,
    gamma: float,
    lam: float,
) -> Gae:
    """Generalised advantage estimation (arXiv 1506.02438).

    delta_t = r_t + gamma V' - V_t, A_t = delta_t + gamma lam A_{t+1}, with A_{t+1} = 0 across an end.

    Args:
        rewards: [T, B] float.
        values: [T, B] float.
        next_values: [T, B] float.
        terminated: [T, B] bool.
        truncated: [T, B] bool.
        valid: [T, B] bool, None = all.
        gamma: discount in [0, 1].
        lam: in [0, 1]; 1 gives Monte Carlo returns, 0 one-step ones.

    Raises:
        ValueError: shapes differ, flags are not bool, numbers are not floating, gamma or lam outside [0, 1].
    """
    valid = torch.ones_like(terminated) if valid is None else valid
    _check(rewards, values, next_values, terminated, truncated, valid, gamma=gamma, lam=lam)
    with torch.no_grad():
        successor = torch.where(terminated, 0, next_values)
        delta = torch.where(valid, rewards + gamma * successor - values, 0)
        keep = valid & ~(terminated | truncated)
        keep[:-1] &= valid[1:]
        keep[-1] = False
        advantages = affine_scan(delta, keep.to(delta.dtype) * (gamma * lam))
        return Gae(advantages, advantages + values)


def affine_scan(b: Tensor, k: Tensor) -> Tensor:
    """x_t = b_t + k_t x_{t+1} with x_T = 0, [T, B], by doubling: log2 T rounds, no loop over time."""
    x, k = b.clone(), k.clone()
    shift = 1
    while shift < len(x):
        x[:-shift] += k[:-shift] * x[shift:].clone()
        k[:-shift] *= k[shift:].clone()
        k[-shift:] = 0
        shift *= 2
    return x


def _check(*arrays: Tensor, gamma: float, lam: float) -> None:
    names = ("rewards", "values", "next_values", "terminated", "truncated", "valid")
    for name, array in zip(names, arrays, strict=True):
        if array.shape != arrays[0].shape or array.ndim != 2:
            raise ValueError(
                f"{name} has shape {tuple(array.shape)}; all must be [T, B] as rewards {tuple(arrays[0].shape)}"
            )
        flag = name in names[3:]
        if flag != (array.dtype == torch.bool) or (not flag and not array.dtype.is_floating_point):
            raise ValueError(f"{name} has dtype {array.dtype}; rewards and values are floating, flags are bool")
    for name, value in (("gamma", gamma), ("lam", lam)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value}: must lie in [0, 1]")
