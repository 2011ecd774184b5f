"""From a wish in the plane to bins of the heads: where to go, where to aim."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.geometry import isqrt, pair
from ludory.envs.arena.numbers import BODY, SHOT_STEP
from ludory.envs.arena.state import AIM_BINS, AIM_X, AIM_Y, MOVE_BINS, MOVE_X, MOVE_Y
from ludory.envs.arena.tables import MOVE, ONE, UNIT
from ludory.envs.kernel import kernel


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
    if gx == 0 and gy == 0:
        action[MOVE_X] = bins // 2
        action[MOVE_Y] = bins // 2
        return
    best, found = 0, -1
    for k in range(bins * bins):
        a, b = k // bins, k % bins
        if a == 0 or b == 0 or a == bins - 1 or b == bins - 1:
            row = pair(bins, a, b)
            dot = int(MOVE[row, 0]) * gx + int(MOVE[row, 1]) * gy
            if found < 0 or dot > best:
                best, found = dot, k
    action[MOVE_X] = found // bins
    action[MOVE_Y] = found % bins


@kernel
def aim_at(state, i, action, px, py):
    """Aim as nearly at p, a vector from the own place, as the bins allow; tells whether a shot would pass within a body's radius."""
    bins = int(state.setup[i, AIM_BINS])
    best, found = 0, -1
    for k in range(bins * bins):
        if k != bins * bins // 2:
            row = pair(bins, k // bins, k % bins)
            dot = int(UNIT[row, 0]) * px + int(UNIT[row, 1]) * py
            if found < 0 or dot > best:
                best, found = dot, k
    action[AIM_X] = found // bins
    action[AIM_Y] = found % bins
    row = pair(bins, found // bins, found % bins)
    cross = int(UNIT[row, 0]) * py - int(UNIT[row, 1]) * px
    near = px * px + py * py <= BODY * BODY
    return near or (best > 0 and abs(cross) <= BODY * ONE)


@kernel
def lead(e, velocity, distance):
    """A coordinate of where a rival will be when a shot arrives."""
    return e + velocity * (distance // SHOT_STEP)


@kernel
def length(x, y):
    """Length of a vector, rounded down."""
    return isqrt(x * x + y * y)
