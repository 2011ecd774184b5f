"""The observations of the arena by name, and the small ones, 19 numbers each: `ego19` and `seed19`. Computed in float64 from integers, rounded once."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from ludory.envs import ObservationSpec, flat_segments, kernel
from ludory.envs.arena.constants import (
    COOLDOWN,
    FIRE,
    FULL_AMMUNITION,
    FULL_ENERGY,
    FULL_HP,
    LAST_TICK,
    SHOT_SLOTS,
    TICKS,
    UNIT_LENGTH,
    VISION,
    WALK,
)
from ludory.envs.arena.geometry import clamp
from ludory.envs.arena.phases.crates import ANY_KIND, NO_CRATE, nearest_crate
from ludory.envs.arena.phases.zone import outside
from ludory.envs.arena.state import WALL
from ludory.envs.arena.variants import ArenaOptions

from .full import full_spec, observe_full
from .sight import (
    NO_SHOT,
    NOBODY,
    living_rivals,
    nearest_rival,
    nearest_threat,
    sees_rival,
    square_distance,
    status,
    time_to_pass,
)
from .tactical import observe_tactical, tactical_spec

EGO19 = {"self": 5, "zone": 4, "rival": 5, "crate": 3, "threat": 1, "rivals": 1}
SEED19 = {"self": 6, "zone": 4, "rival": 3, "crate": 2, "counts": 2, "distances": 2}


def observation_spec(options: ArenaOptions) -> ObservationSpec:
    """Shape, bounds and segments of the chosen observation."""
    if options.observation == "full":
        return full_spec(options)
    if options.observation == "tactical":
        return tactical_spec(options)
    if options.observation == "seed19":
        return ObservationSpec("seed19", (19,), "float32", flat_segments(SEED19), -35.0, 100.0)
    return ObservationSpec("ego19", (19,), "float32", flat_segments(EGO19), -1.0, 1.0)


@kernel
def observe_ego19(state, i, seat, out):
    """Fractions and vectors from the seat's own place, all in [-1, 1]; all 0 for the dead."""
    if int(state.alive[i, seat]) == 0:
        return
    out[0] = int(state.hp[i, seat]) / FULL_HP
    out[1] = int(state.energy[i, seat]) / FULL_ENERGY
    out[2] = int(state.ammunition[i, seat]) / FULL_AMMUNITION
    out[3] = int(state.cooldown[i, seat, FIRE]) / COOLDOWN[FIRE]
    out[4] = status(state, i, seat)
    ego_zone(state, i, seat, out)
    rival = nearest_rival(state, i, seat)
    if rival != NOBODY:
        ego_rival(state, i, seat, rival, out)
    crate = nearest_crate(state, i, seat, VISION, ANY_KIND)
    if crate != NO_CRATE:
        out[14] = (int(state.crate_x[i, crate]) - int(state.x[i, seat])) / VISION
        out[15] = (int(state.crate_y[i, crate]) - int(state.y[i, seat])) / VISION
        out[16] = 1.0 - 2.0 * (crate % 2)  # 1 health, -1 supply
    shot = nearest_threat(state, i, seat)
    if shot != NO_SHOT:
        out[17] = ego_threat(state, i, seat, shot // SHOT_SLOTS, shot % SHOT_SLOTS)
    out[18] = living_rivals(state, i, seat) / (state.alive.shape[1] - 1)


@kernel
def ego_zone(state, i, seat, out):
    """Entries 5 to 8."""
    x, y, wall = int(state.zone_x[i]), int(state.zone_y[i]), int(state.setup[i, WALL])
    # a body at the wall may be farther from the zone's centre than the wall is from the origin
    out[5] = clamp(x - int(state.x[i, seat]), -wall, wall) / wall
    out[6] = clamp(y - int(state.y[i, seat]), -wall, wall) / wall
    margin = int(state.zone_radius[i]) - math.sqrt(square_distance(state, i, seat, x, y))
    out[7] = max(-1.0, min(1.0, margin / wall))
    out[8] = int(state.t[i]) / LAST_TICK


@kernel
def ego_rival(state, i, seat, rival, out):
    """Entries 9 to 13."""
    ex = int(state.x[i, rival]) - int(state.x[i, seat])
    ey = int(state.y[i, rival]) - int(state.y[i, seat])
    out[9] = ex / VISION
    out[10] = ey / VISION
    out[11] = int(state.hp[i, rival]) / FULL_HP
    out[12] = status(state, i, rival)
    d = math.sqrt(ex * ex + ey * ey)
    if d > 0:
        receding = (ex * int(state.vx[i, rival]) + ey * int(state.vy[i, rival])) / (d * WALK)
        out[13] = max(-1.0, min(1.0, receding))


@kernel
def ego_threat(state, i, seat, owner, slot):
    """Nearness in time of a shot, positive if it passes with the seat on the side of a positive cross product."""
    gx = int(state.x[i, seat]) - int(state.shot_x[i, owner, slot])
    gy = int(state.y[i, seat]) - int(state.shot_y[i, owner, slot])
    # the sign tells on which side the shot passes
    cross = gx * int(state.shot_vy[i, owner, slot]) - gy * int(state.shot_vx[i, owner, slot])
    near = 1.0 - min(1.0, time_to_pass(state, i, seat, owner, slot) / TICKS)
    return near if cross >= 0 else -near


@kernel
def observe_seed19(state, i, seat, out):
    """Raw units in the frame of the arena, in the order of the seed's features; all 0 for the dead."""
    if int(state.alive[i, seat]) == 0:
        return
    out[0] = int(state.x[i, seat]) / UNIT_LENGTH
    out[1] = int(state.y[i, seat]) / UNIT_LENGTH
    out[2] = int(state.vx[i, seat]) * TICKS / UNIT_LENGTH  # units per second
    out[3] = int(state.vy[i, seat]) * TICKS / UNIT_LENGTH
    out[4] = int(state.hp[i, seat]) / 100
    out[5] = int(state.ammunition[i, seat])
    out[6] = int(state.zone_x[i]) / UNIT_LENGTH
    out[7] = int(state.zone_y[i]) / UNIT_LENGTH
    out[8] = int(state.zone_radius[i]) / UNIT_LENGTH
    out[9] = 0.0 if outside(state, i, seat) else 1.0
    rival = nearest_rival(state, i, seat)
    if rival != NOBODY:
        x, y = int(state.x[i, rival]), int(state.y[i, rival])
        out[10] = x / UNIT_LENGTH
        out[11] = y / UNIT_LENGTH
        out[12] = int(state.hp[i, rival]) / 100
        out[17] = math.sqrt(square_distance(state, i, seat, x, y)) / UNIT_LENGTH
    crate = nearest_crate(state, i, seat, VISION, ANY_KIND)
    if crate != NO_CRATE:
        x, y = int(state.crate_x[i, crate]), int(state.crate_y[i, crate])
        out[13] = x / UNIT_LENGTH
        out[14] = y / UNIT_LENGTH
        out[18] = math.sqrt(square_distance(state, i, seat, x, y)) / UNIT_LENGTH
    seed_counts(state, i, seat, out)


@kernel
def seed_counts(state, i, seat, out):
    """Entries 15 and 16: how many rivals and crates are in sight."""
    for rival in range(state.alive.shape[1]):
        if rival != seat and sees_rival(state, i, seat, rival, VISION):
            out[15] += 1
    for crate in range(state.crate_wait.shape[1]):
        x, y = int(state.crate_x[i, crate]), int(state.crate_y[i, crate])
        if int(state.crate_wait[i, crate]) == 0 and square_distance(state, i, seat, x, y) <= VISION * VISION:
            out[16] += 1


OBSERVE = {"ego19": observe_ego19, "seed19": observe_seed19, "full": observe_full, "tactical": observe_tactical}
"""Kernel of each observation by name."""
