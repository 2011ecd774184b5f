"""Kernels that find the pair of bins nearest to a direction."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel

from .constants import BODY, SHOT_STEP
from .geometry import pair
from .tables import MOVE, ONE, UNIT


@kernel
def move_bins_towards(bins, gx, gy):
    """Of the pairs at full speed the one most nearly along g, first in index order on ties, as a * bins + b; the centre for g = 0."""
    if gx == 0 and gy == 0:
        return bins * bins // 2
    best, found = 0, -1
    for k in range(bins * bins):
        a, b = k // bins, k % bins
        if a == 0 or b == 0 or a == bins - 1 or b == bins - 1:
            row = pair(bins, a, b)
            # `MOVE` has unit vectors at full speed, so the largest product is the nearest direction
            dot = int(MOVE[row, 0]) * gx + int(MOVE[row, 1]) * gy
            if found < 0 or dot > best:
                best, found = dot, k
    return found


@kernel
def aim_bins_towards(bins, px, py):
    """Of the pairs but the centre the one most nearly along p, first in index order on ties, as a * bins + b."""
    best, found = 0, -1
    for k in range(bins * bins):
        # the centre has no direction
        if k != bins * bins // 2:
            row = pair(bins, k // bins, k % bins)
            dot = int(UNIT[row, 0]) * px + int(UNIT[row, 1]) * py
            if found < 0 or dot > best:
                best, found = dot, k
    return found


@kernel
def miss(bins, k, px, py):
    """How far a ray along pair k passes beside p, in sub; positive with p to the right of it on a screen."""
    row = pair(bins, k // bins, k % bins)
    # the cross product with a unit vector is the distance to the ray
    return (int(UNIT[row, 0]) * py - int(UNIT[row, 1]) * px) / ONE


@kernel
def on_target(bins, k, px, py):
    """Whether a ray along pair k passes p within a body's radius."""
    row = pair(bins, k // bins, k % bins)
    along = int(UNIT[row, 0]) * px + int(UNIT[row, 1]) * py
    across = int(UNIT[row, 0]) * py - int(UNIT[row, 1]) * px
    # standing inside is a hit whatever the aim; behind the back is none
    return px * px + py * py <= BODY * BODY or (along > 0 and abs(across) <= BODY * ONE)


@kernel
def lead(e, velocity, distance):
    """A coordinate of where a rival will be when a shot arrives."""
    return e + velocity * (distance // SHOT_STEP)


@kernel
def side(state, i, seat, ex, ey):
    """1 or -1: n = side * (-e_y, e_x)."""
    return 1 if ex * int(state.vy[i, seat]) - ey * int(state.vx[i, seat]) >= 0 else -1
