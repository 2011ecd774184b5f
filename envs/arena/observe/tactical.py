"""The observation `tactical`: `full`, and what a player would compute from it about the nearest rival, aiming and moving."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from ludory.envs import ObservationSpec, flat_segments, kernel
from ludory.envs.arena.constants import BODY, FULL_HP, HEALTH, REACH, SUPPLY, UNIT_LENGTH, VISION
from ludory.envs.arena.geometry import aim_bins_towards, isqrt, lead, miss, move_bins_towards, on_target, side
from ludory.envs.arena.phases.crates import NO_CRATE, nearest_crate
from ludory.envs.arena.state import AIM_BINS, MOVE_BINS
from ludory.envs.arena.variants import ArenaOptions

from .full import full_parts, full_size, observe_full
from .sight import NOBODY, nearest_rival, status

NEAREST, AIM, NEAR_CRATES = 6, 6, 12
WAY, EDGE = 4, 3
"""Entries of a direction, and of how far the zone's centre and edge are."""
WAYS = 3 * WAY + EDGE
"""To the rival, across, to the zone's centre; then the zone's edge."""
RINGS = 12
"""Units of sight. The distance of a rival is encoded as the covered part of each ring around the seat, which is exact for near rivals."""
MISSES = 4
"""A miss is clipped to this many body radii and divided by them."""


def tactical_parts(options: ArenaOptions) -> dict[str, int]:
    """Segments of `tactical` and their lengths."""
    own = {"nearest": NEAREST, "rings": RINGS, "aim": AIM, "ways": WAYS, "near_crates": NEAR_CRATES}
    return full_parts(options) | own


def tactical_spec(options: ArenaOptions) -> ObservationSpec:
    """Shape, bounds and segments of `tactical`."""
    parts = tactical_parts(options)
    return ObservationSpec("tactical", (sum(parts.values()),), "float32", flat_segments(parts), -4.0, 4.0)


@kernel
def observe_tactical(state, i, seat, out):
    """`full`, then the segments of its own; all 0 for the dead."""
    if int(state.alive[i, seat]) == 0:
        return
    observe_full(state, i, seat, out)
    at = full_size(state.alive.shape[1])
    rival = nearest_rival(state, i, seat)
    if rival != NOBODY:
        ex = int(state.x[i, rival]) - int(state.x[i, seat])
        ey = int(state.y[i, rival]) - int(state.y[i, seat])
        write_nearest(state, i, rival, ex, ey, out, at)
        write_rings(ex, ey, out, at + NEAREST)
        write_aim(state, i, rival, ex, ey, out, at + NEAREST + RINGS)
        # on the side on which the body already circles, so that it does not turn back and forth
        s = side(state, i, seat, ex, ey)
        write_way(state, i, ex, ey, out, at + NEAREST + RINGS + AIM)
        # across: at right angles to the rival
        write_way(state, i, -s * ey, s * ex, out, at + NEAREST + RINGS + AIM + WAY)
    at += NEAREST + RINGS + AIM + 2 * WAY
    cx, cy = int(state.zone_x[i]) - int(state.x[i, seat]), int(state.zone_y[i]) - int(state.y[i, seat])
    write_way(state, i, cx, cy, out, at)
    distance = math.sqrt(cx * cx + cy * cy)
    at += WAY
    out[at] = distance / VISION
    out[at + 1] = min(1.0, distance / (2 * UNIT_LENGTH))
    # one unit before the edge, as the scripted styles count it
    out[at + 2] = 1.0 if distance > int(state.zone_radius[i]) - UNIT_LENGTH else 0.0
    write_near_crate(state, i, seat, HEALTH, out, at + EDGE)
    write_near_crate(state, i, seat, SUPPLY, out, at + EDGE + NEAR_CRATES // 2)


@kernel
def write_nearest(state, i, rival, ex, ey, out, at):
    """Six entries of the nearest visible living rival: there, vector, hit points, status, stunned for long."""
    out[at] = 1.0
    out[at + 1] = ex / VISION
    out[at + 2] = ey / VISION
    out[at + 3] = int(state.hp[i, rival]) / FULL_HP
    out[at + 4] = status(state, i, rival)
    out[at + 5] = 1.0 if int(state.stun[i, rival]) > 1 else 0.0


@kernel
def write_rings(ex, ey, out, at):
    """Twelve entries: how much of the first unit lies between the seat and a rival, of the second, ..."""
    d = math.sqrt(ex * ex + ey * ey) / UNIT_LENGTH
    for k in range(RINGS):
        out[at + k] = max(0.0, min(1.0, d - k))


@kernel
def write_aim(state, i, rival, ex, ey, out, at):
    """Six entries: where the rival will be when a shot arrives, the aim pair most nearly there, by how much its ray misses, whether it hits."""
    d, bins = isqrt(ex * ex + ey * ey), int(state.setup[i, AIM_BINS])
    px, py = lead(ex, int(state.vx[i, rival]), d), lead(ey, int(state.vy[i, rival]), d)
    k = aim_bins_towards(bins, px, py)
    out[at] = px / VISION
    out[at + 1] = py / VISION
    out[at + 2] = centred(bins, k // bins)
    out[at + 3] = centred(bins, k % bins)
    out[at + 4] = max(-1.0, min(1.0, miss(bins, k, px, py) / (MISSES * BODY)))
    out[at + 5] = 1.0 if on_target(bins, k, px, py) else 0.0


@kernel
def write_way(state, i, gx, gy, out, at):
    """Four entries: the direction of g, and the move pair most nearly along it."""
    d = math.sqrt(gx * gx + gy * gy)
    if d > 0:
        out[at] = gx / d
        out[at + 1] = gy / d
    write_move(state, i, gx, gy, out, at + 2)


@kernel
def write_move(state, i, gx, gy, out, at):
    """Two entries: the move pair most nearly along g."""
    bins = int(state.setup[i, MOVE_BINS])
    k = move_bins_towards(bins, gx, gy)
    out[at] = centred(bins, k // bins)
    out[at + 1] = centred(bins, k % bins)


@kernel
def centred(bins, k):
    """A bin as a number from -1 to 1."""
    return 2.0 * k / (bins - 1) - 1.0


@kernel
def write_near_crate(state, i, seat, kind, out, at):
    """Six entries of the nearest visible open crate of a kind: there, vector, the move pair towards it, in reach."""
    crate = nearest_crate(state, i, seat, VISION, kind)
    if crate != NO_CRATE:
        dx, dy = (
            int(state.crate_x[i, crate]) - int(state.x[i, seat]),
            int(state.crate_y[i, crate]) - int(state.y[i, seat]),
        )
        out[at] = 1.0
        out[at + 1] = dx / VISION
        out[at + 2] = dy / VISION
        write_move(state, i, dx, dy, out, at + 3)
        out[at + 5] = 1.0 if dx * dx + dy * dy <= REACH * REACH else 0.0
