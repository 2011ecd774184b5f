"""Returns and advantages over time-major arrays [T, B]. No learner computes a return anywhere else.

`close_holes` first removes the rows in which a seat had nothing to decide. Every recurrence is affine,
x_t = b_t + k_t x_{t+1} with x_T = 0, so one scan serves all. No result carries a gradient.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

MAX_LOG_RHO = 60.0
"""Log-ratios are cut above (float32 overflows at 88), never below."""


class Steps(NamedTuple):
    """T steps of B columns; a column may hold several episodes, and padding anywhere.

    `terminated` stops bootstrapping; `truncated` bootstraps from `next_values` and cuts the trace; where both are set,
    `terminated` wins. The last valid row before padding bootstraps from its own `next_values`. On rows that are not `valid`,
    returns equal `values` and advantages are 0. Rows in which a seat waits are not padding: see `close_holes`.
    """

    rewards: Tensor
    """[T, B] float, follows the action taken at t."""
    values: Tensor
    """[T, B] float, V(s_t)."""
    next_values: Tensor
    """[T, B] float, V of the true successor: values[t + 1] inside an episode, the bootstrap in the last row, V of the final
    observation at a truncation; never read where `terminated`."""
    terminated: Tensor
    """[T, B] bool, the action ended the game by its rules."""
    truncated: Tensor
    """[T, B] bool, the action was the last before an outside limit."""
    valid: Tensor | None = None
    """[T, B] bool, False on padding and dummy rows; None: all rows are valid."""


class Advantages(NamedTuple):
    """Advantages and the returns they add up to, [T, B]."""

    advantages: Tensor
    returns: Tensor


class VTraceReturns(NamedTuple):
    """Corrected values `vs` and policy-gradient advantages, [T, B]."""

    vs: Tensor
    pg_advantages: Tensor


class ClosedIndex(NamedTuple):
    """Where the rows of closed columns lie in the columns that they came from."""

    rows: Tensor | None
    """[T, B] int64, row t of a closed column was row rows[t]; None: there is no hole, every row stays where it is."""
    gamma: float | Tensor
    """The discount to compute returns with: a number, or [T, B] where a discount per step was asked for."""

    def gather(self, part: Tensor) -> Tensor:
        """[T, B, ...] in the order of the closed columns."""
        return part if self.rows is None else part[self.rows, torch.arange(part.shape[1], device=part.device)]

    def scatter(self, part: Tensor) -> Tensor:
        """The inverse of `gather`: results back at the rows of the decisions; rows of a hole have advantage 0 and their own value."""
        if self.rows is None:
            return part
        result = torch.empty_like(part)
        result[self.rows, torch.arange(part.shape[1], device=part.device)] = part
        return result


class _Frame(NamedTuple):
    """Quantities that all recurrences derive from the inputs."""

    rewards: Tensor
    values: Tensor
    successor: Tensor  # next_values, 0 where terminated
    discount: Tensor  # gamma, 0 where terminated
    cut: Tensor  # bool: nothing flows over from t + 1
    valid: Tensor
    q: Tensor  # r + discount * successor

    def as_wide_as(self, rho: Tensor) -> _Frame:
        """The same for all groups, where rho has an axis of groups."""
        return self if rho.ndim == self.q.ndim else _Frame(*(field.unsqueeze(-1) for field in self))


def close_holes(
    steps: Steps, decided: Tensor | None, *, gamma: float = 1.0, discount_per: str = "decision"
) -> tuple[Steps, ClosedIndex]:
    """Move the decisions of every column together, so that returns run from decision to decision.

    A hole is a valid row in which nothing was decided: a seat waits, or a token was not written by the model. It belongs to the
    decision before it in the same episode. That decision is paid the hole's rewards, ends where the hole ends, and bootstraps from
    the value of the next decision, or as the last row of the hole does where no decision follows. Holes come last in the closed
    column, as padding. Rewards before the first decision of an episode go to no decision.

    Args:
        steps: [T, B].
        decided: [T, B] bool; None: every valid row.
        gamma: discount.
        discount_per: "decision": time stands still in a hole; "step": rewards and values after k rows of a hole are discounted
            by another gamma^k.

    Returns:
        The closed steps, and the index that takes other columns there and results back. Steps without a hole are returned as
        they are, without a copy; so is, bit for bit, each column without one.

    Raises:
        ValueError: shapes, dtypes or devices do not fit, gamma outside [0, 1], an unknown `discount_per`.
    """
    check_fraction("gamma", gamma)
    if discount_per not in ("decision", "step"):
        raise ValueError(f"discount_per={discount_per!r}: must be 'decision' or 'step'")
    if decided is None:
        return steps, ClosedIndex(None, gamma)
    valid = torch.ones_like(steps.terminated) if steps.valid is None else steps.valid
    _check(steps._replace(valid=valid), gamma, 0.0)
    if decided.shape != valid.shape or decided.dtype != torch.bool or decided.device != valid.device:
        raise ValueError(
            f"decided is {decided.dtype} {tuple(decided.shape)} on {decided.device}; "
            f"it must be bool, [T, B] as rewards {tuple(valid.shape)} on {valid.device}"
        )
    hole = valid & ~decided
    if not hole.any():
        return steps, ClosedIndex(None, gamma)
    pace = gamma if discount_per == "step" else 1.0
    joined, last = join_holes(steps._replace(valid=valid), decided, pace)
    # Padding inside a column stays in its place: it cuts there.
    index = ClosedIndex(hole.byte().argsort(stable=True, dim=0), gamma)
    if pace != 1:
        rows = torch.arange(len(hole), device=hole.device).unsqueeze(1)
        index = index._replace(
            # k rows of a hole between two decisions are k more steps of discount
            gamma=index.gather(gamma * pace ** _at_least_float32((last - rows).to(joined.values.dtype)))
        )
    return Steps(*(index.gather(part) for part in joined if part is not None)), index


def join_holes(steps: Steps, decided: Tensor, pace: float = 1.0) -> tuple[Steps, Tensor]:
    """Assign to every decision the rewards, the end and the successor's value of the hole after it; rows stay where they are.

    Args:
        steps: [T, B].
        decided: [T, B] bool.
        pace: discount of rewards from one row of a hole to the next.

    Returns:
        Steps, of which only the decisions are `valid`, and the last row [T, B] of the hole after each of them, or its own row.
    """
    valid = torch.ones_like(decided) if steps.valid is None else steps.valid
    row = torch.arange(len(decided), device=decided.device).unsqueeze(1).expand_as(decided)
    ended = steps.terminated | steps.truncated
    waits = _shift(valid & ~decided, torch.zeros_like(decided)) & ~ended  # the next row belongs to the same decision
    # the next row that does not wait, found from the end: the smallest number among those at or after each row
    last = torch.where(waits, len(row), row).flip(0).cummin(0).values.flip(0)
    # padding may hold NaN, which even times 0 would spread
    rewards = _at_least_float32(torch.where(valid, steps.rewards, 0))
    paid = affine_scan(rewards, pace * waits.to(rewards.dtype)).to(steps.rewards.dtype)
    after = (last + 1).clamp(max=len(row) - 1)
    # the hole ended without an end of the episode and a decision follows: its value is the bootstrap
    follows = waits & (after > last) & ~ended.gather(0, last) & (valid & decided).gather(0, after)
    joined = Steps(
        torch.where(waits, paid, steps.rewards),
        steps.values,
        torch.where(follows, steps.values.gather(0, after), steps.next_values.gather(0, last)),
        steps.terminated.gather(0, last),
        steps.truncated.gather(0, last),
        valid & decided,
    )
    return joined, last


def gae(steps: Steps, *, gamma: float | Tensor, lam: float) -> Advantages:
    """Generalised advantage estimation (arXiv 1506.02438); `returns` are TD(lambda)'s. gamma may be [T, B].

    Raises:
        ValueError: shapes, dtypes or devices do not fit, gamma or lam outside [0, 1].
    """
    frame = _frame(steps, gamma, lam)
    # the trace crosses neither an end nor padding
    flows = (frame.valid & ~frame.cut).to(frame.q.dtype)
    advantages = affine_scan(torch.where(frame.valid, frame.q - frame.values, 0), gamma * lam * flows)
    return Advantages(advantages, advantages + frame.values)


def td_lambda(steps: Steps, *, gamma: float | Tensor, lam: float | Tensor) -> Tensor:
    """TD(lambda) returns: G_t = r_t + d_t ((1 - lam_t) V' + lam_t G_{t+1}), with G_{t+1} = V' at a cut; gamma and lam may be [T, B].

    Raises:
        ValueError: as `gae`.
    """
    return _lambda_returns(_frame(steps, gamma, lam), lam)


def monte_carlo(steps: Steps, *, gamma: float) -> Tensor:
    """Discounted sums of rewards up to the end or the bootstrap: TD(1)."""
    return td_lambda(steps, gamma=gamma, lam=1.0)


def n_step(steps: Steps, n: int, *, gamma: float) -> Tensor:
    """Returns that bootstrap after n steps, or at a cut.

    Raises:
        ValueError: n < 1, or as `gae`.
    """
    if n < 1:
        raise ValueError(f"n={n}: must be at least 1")
    frame = _frame(steps, gamma, 1.0)
    result = frame.q
    # the n-step return of t is r + gamma times the (n - 1)-step return of t + 1, except where it is cut
    for _ in range(min(n, len(result)) - 1):
        later = torch.where(frame.cut, frame.successor, _shift(result, frame.successor))
        result = frame.rewards + frame.discount * later
    return torch.where(frame.valid, result, frame.values)


def vtrace(
    steps: Steps,
    log_rhos: Tensor,
    *,
    gamma: float | Tensor,
    lam: float = 1.0,
    rho_bar: float | None = 1.0,
    c_bar: float | None = 1.0,
    pg_rho_bar: float | None = 1.0,
    pg_lambda: bool = False,
    allow_c_above_rho: bool = False,
) -> VTraceReturns:
    """V-trace (arXiv 1802.01561, eq. 1, with lambda).

    Args:
        steps: [T, B].
        log_rhos: log pi(a|s) - log mu(a|s), [T, B] of the joint action or of a group of heads, or [T, B, G] of G groups;
            the results have its shape.
        gamma: discount, a number or [T, B].
        lam: of the trace.
        rho_bar: clips the ratio in the temporal differences; None or NaN: no clipping.
        c_bar: clips the ratio along the trace.
        pg_rho_bar: clips the ratio of the policy gradient.
        pg_lambda: mix the successor of the policy gradient with lam, as rlax does; False is the paper's.
        allow_c_above_rho: take c_bar > rho_bar, which the paper's contraction does not cover.

    Raises:
        ValueError: as `gae`; log-ratios not finite on valid rows; thresholds negative, or c_bar > rho_bar.
    """
    frame = _frame(steps, gamma, lam)
    limits = thresholds(rho_bar, c_bar, pg_rho_bar, allow_c_above_rho)
    rho = ratios(log_rhos, frame.rewards, frame.valid)
    frame = frame.as_wide_as(rho)
    clipped, trace, policy = (rho.clamp(max=limit) for limit in limits)
    # padding may hold anything, NaN too
    delta = torch.where(frame.valid, clipped * (frame.q - frame.values), 0)
    # an ended row has discount 0 here, and is cut in any case
    pace = frame.discount if isinstance(gamma, Tensor) else gamma
    flows = torch.where(frame.valid & ~frame.cut, pace * lam * trace, 0)
    vs = frame.values + affine_scan(delta, flows)
    later = torch.where(frame.cut, frame.successor, _shift(vs, vs))  # at a cut the successor's value, not vs
    if pg_lambda:
        later = lam * later + (1 - lam) * frame.successor
    target = frame.rewards + frame.discount * later
    return VTraceReturns(vs, torch.where(frame.valid, policy * (target - frame.values), 0))


def upgo(steps: Steps, log_rhos: Tensor, *, gamma: float | Tensor) -> Advantages:
    """Upgoing policy update (doi:10.1038/s41586-019-1724-z, Methods): follow the trace while it does better than V.

    A lambda return with lam_t = 1 where q_{t+1} >= v_{t+1}, else 0; the ratio of the advantage is always clipped at 1.
    Advantages have the shape of log_rhos, [T, B] or [T, B, G]; returns are [T, B].

    Raises:
        ValueError: as `vtrace`.
    """
    frame = _frame(steps, gamma, 1.0)
    rho = ratios(log_rhos, frame.rewards, frame.valid).clamp(max=1)
    better = (frame.q >= frame.values).to(frame.q.dtype)
    returns = _lambda_returns(frame, _shift(better, torch.zeros_like(better)))
    wide = frame.as_wide_as(rho)
    gain = returns.reshape(wide.values.shape) - wide.values
    return Advantages(torch.where(wide.valid, rho * gain, 0), returns)


def normalise(x: Tensor, valid: Tensor | None = None) -> Tensor:
    """Scale to mean 0 and population standard deviation 1 over valid entries; 0 elsewhere; 1e-8 is added to the standard deviation."""
    chosen = x if valid is None else x[valid]
    if not chosen.numel():
        return torch.zeros_like(x)
    scaled = (x - chosen.mean()) / (chosen.std(correction=0) + 1e-8)
    return scaled if valid is None else torch.where(valid, scaled, 0)


def affine_scan(b: Tensor, k: Tensor) -> Tensor:
    """x_t = b_t + k_t x_{t+1} with x_T = 0, [T, B], by doubling: log2 T rounds, no loop over time."""
    x, k = b.clone(), k.clone()
    shift = 1
    while shift < len(x):
        # both factors of the old step: x before k, since x needs the k of this round
        x[:-shift] += k[:-shift] * x[shift:].clone()
        k[:-shift] *= k[shift:].clone()
        shift *= 2
    return x


def checked(
    steps: Steps, gamma: float | Tensor, lam: float | Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The fields of `steps` without gradients, at least float32, with `valid` filled in.

    Raises:
        ValueError: shapes, dtypes or devices do not fit, gamma or lam outside [0, 1].
    """
    valid = torch.ones_like(steps.terminated) if steps.valid is None else steps.valid
    _check(steps._replace(valid=valid), gamma, lam)
    rewards, values, following = (_at_least_float32(x.detach()) for x in steps[:3])
    return rewards, values, following, steps.terminated, steps.truncated, valid


def check_fraction(name: str, value: float | Tensor) -> None:
    """Check a discount or a lambda, a number or a tensor.

    Raises:
        ValueError: it lies outside [0, 1].
    """
    inside = ((value >= 0) & (value <= 1)).all() if isinstance(value, Tensor) else 0 <= value <= 1
    if not inside:
        raise ValueError(f"{name}={value}: must lie in [0, 1]")


def ratios(log_rhos: Tensor, rewards: Tensor, valid: Tensor) -> Tensor:
    """exp(log_rhos) in the dtype of rewards, not clipped; [T, B], or [T, B, G] for groups of heads.

    Raises:
        ValueError: shape or dtype does not fit, or a log-ratio of a valid row is not finite.
    """
    if log_rhos.shape[:2] != rewards.shape or log_rhos.ndim > 3 or not log_rhos.dtype.is_floating_point:
        raise ValueError(f"log_rhos: {log_rhos.dtype} {tuple(log_rhos.shape)}, must be floats {tuple(rewards.shape)}")
    if log_rhos.device != rewards.device:
        raise ValueError(f"log_rhos is on {log_rhos.device}, rewards on {rewards.device}")
    used = valid if log_rhos.ndim == 2 else valid.unsqueeze(-1)
    bad = used & ~log_rhos.isfinite()
    if bad.any():
        at = tuple(int(i) for i in bad.nonzero()[0])
        raise ValueError(
            f"log_rhos[{', '.join(map(str, at))}] = {log_rhos[at]}: V-trace and UPGO need behaviour log-probabilities"
        )
    return log_rhos.detach().to(rewards.dtype).clamp(max=MAX_LOG_RHO).exp()


def thresholds(
    rho_bar: float | None, c_bar: float | None, pg_rho_bar: float | None, allow_c_above_rho: bool
) -> tuple[float, float, float]:
    """V-trace's limits as numbers, infinity where there is none.

    Raises:
        ValueError: one is negative, or c_bar > rho_bar.
    """
    limits = _threshold("rho_bar", rho_bar), _threshold("c_bar", c_bar), _threshold("pg_rho_bar", pg_rho_bar)
    if limits[1] > limits[0] and not allow_c_above_rho:
        raise ValueError(f"c_bar={c_bar} > rho_bar={rho_bar}: pass allow_c_above_rho=True if that is meant")
    return limits


def _lambda_returns(frame: _Frame, lam: float | Tensor) -> Tensor:
    mixed = (1 - lam) * frame.successor + torch.where(frame.cut, lam * frame.successor, 0)
    flows = torch.where(frame.cut, 0, frame.discount * lam)
    # Rows that are not valid must not reach back: the valid row before one is a cut.
    returns = affine_scan(torch.where(frame.valid, frame.rewards + frame.discount * mixed, 0), flows)
    return torch.where(frame.valid, returns, frame.values)


def _shift(x: Tensor, last: Tensor) -> Tensor:
    """x_{t+1}, with the last row of `last` at the end."""
    return torch.cat([x[1:], last[-1:]])


def _threshold(name: str, bar: float | None) -> float:
    if bar is None or math.isnan(bar):
        return math.inf
    if bar < 0:
        raise ValueError(f"{name}={bar}: must not be negative (None: no clipping)")
    return bar


def _frame(steps: Steps, gamma: float | Tensor, lam: float | Tensor) -> _Frame:
    rewards, values, following, terminated, truncated, valid = checked(steps, gamma, lam)
    cut = terminated | truncated | ~_shift(valid, torch.zeros_like(valid))
    successor = torch.where(terminated, 0, following)  # a select, not a product: 0 x NaN is NaN
    pace = gamma.to(rewards.dtype) if isinstance(gamma, Tensor) else torch.full_like(rewards, gamma)
    discount = torch.where(terminated, 0, pace)
    return _Frame(rewards, values, successor, discount, cut, valid, rewards + discount * successor)


def _at_least_float32(x: Tensor) -> Tensor:
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def _check(steps: Steps, gamma: float | Tensor, lam: float | Tensor) -> None:
    first = steps.rewards
    for name, array in zip(Steps._fields, steps, strict=True):
        assert array is not None
        if array.shape != first.shape or array.ndim != 2 or not len(array):
            raise ValueError(
                f"{name} has shape {tuple(array.shape)}; all must be [T, B] as rewards {tuple(first.shape)}"
            )
        if array.device != first.device:
            raise ValueError(f"{name} is on {array.device}, rewards on {first.device}")
        flag = name in ("terminated", "truncated", "valid")
        if flag != (array.dtype == torch.bool) or (not flag and not array.dtype.is_floating_point):
            raise ValueError(f"{name} has dtype {array.dtype}; rewards and values are floating, flags are bool")
    for name, number in (("gamma", gamma), ("lam", lam)):
        if isinstance(number, Tensor) and (number.shape != first.shape or number.device != first.device):
            raise ValueError(
                f"{name} is {tuple(number.shape)} on {number.device}; "
                f"it must be a number, or as rewards {tuple(first.shape)} on {first.device}"
            )
        check_fraction(name, number)
