"""Integer geometry: products of directions, square roots, the wall."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

import math

from ludory.envs import draw, kernel

from .state import WALL
from .tables import ANGLES, CIRCLE, ROOT, SECOND, THIRD


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
