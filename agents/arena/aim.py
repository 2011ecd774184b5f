"""From a wish in the plane to bins of the heads: where to go, where to aim."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.direction_bins import aim_bins_towards, move_bins_towards, on_target
from ludory.envs.arena.geometry import isqrt
from ludory.envs.arena.state import AIM_BINS, AIM_X, AIM_Y, MOVE_BINS, MOVE_X, MOVE_Y
from ludory.envs.kernels import kernel


@kernel
def stay(state, i, action):
    """Neutral bins of both pairs; all other heads are 0 already."""
    centre, aim = int(state.setup[i, MOVE_BINS]) // 2, int(state.setup[i, AIM_BINS]) // 2
    action[MOVE_X] = centre
    action[MOVE_Y] = centre
    action[AIM_X] = aim
    action[AIM_Y] = aim


@kernel
def go(state, i, action, gx, gy):
    """Walk at full speed as nearly along g as the bins allow; stand still for g = 0."""
    bins = int(state.setup[i, MOVE_BINS])
    k = move_bins_towards(bins, gx, gy)
    action[MOVE_X] = k // bins
    action[MOVE_Y] = k % bins


@kernel
def aim_at(state, i, action, px, py):
    """Aim as nearly at p, a vector from the own place, as the bins allow; tells whether a shot would pass within a body's radius."""
    bins = int(state.setup[i, AIM_BINS])
    k = aim_bins_towards(bins, px, py)
    action[AIM_X] = k // bins
    action[AIM_Y] = k % bins
    return on_target(bins, k, px, py)


@kernel
def length(x, y):
    """Length of a vector, rounded down."""
    return isqrt(x * x + y * y)
