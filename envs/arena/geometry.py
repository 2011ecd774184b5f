"""Integer geometry: products of directions, square roots, the wall, and the bins nearest to a direction."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

from ludory.envs import draw, kernel

from .constants import BODY, SHOT_STEP
from .state import WALL
from .tables import ANGLES, CIRCLE, MOVE, ONE, ROOT, SECOND, THIRD, UNIT


@kernel
def q14(a, b):
    """Product of a number and one in 1/16384, rounded."""
    # 8192 is one half: rounds to nearest, halves up
    return (a * b + 8192) >> 14


@kernel
def isqrt(n):
    """Floor of the square root of 0 <= n < 2**50: a float64 root is exact enough, for the roots of k*k - 1 and k*k lie 1/(2k) apart."""
    return int(math.sqrt(n))


@kernel
def scale(x, a, b):
    """X times a / b, rounded towards 0; a >= 0, b > 0."""
    # floor division of a negative number would round away from 0 and favour one side of the arena
    return x * a // b if x >= 0 else -(-x * a // b)


@kernel
def clamp(x, low, high):
    """X, or the nearer bound."""
    return low if x < low else high if x > high else x


@kernel
def pair(bins, a, b):
    """Row of the bins (a, b) in `UNIT` and `MOVE`; bins: 5, 9 or 11."""
    first = 0 if bins == 5 else SECOND if bins == 9 else THIRD
    return first + a * bins + b


@kernel
def put(state, i, seat, x, y):
    """Move a body to (x, y), or to where the wall stops it."""
    wall = int(state.setup[i, WALL])
    square = x * x + y * y
    if square > wall * wall:
        # one more than the root, so that the point surely lies inside
        d = isqrt(square) + 1
        x, y = scale(x, wall, d), scale(y, wall, d)
    state.x[i, seat] = x
    state.y[i, seat] = y


@kernel
def draw_in_disc(state, i, radius):
    """A point uniform in the disc of this radius around the origin."""
    # the root makes a uniform draw uniform over the area
    r = q14(radius, int(ROOT[draw(state, i, ANGLES)]))
    k = draw(state, i, ANGLES)
    return q14(r, int(CIRCLE[k, 0])), q14(r, int(CIRCLE[k, 1]))


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
