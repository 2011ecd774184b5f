"""The observations of the arena by name, and the small ones, 19 numbers each: `ego19` and `seed19`. Computed in float64 from integers, rounded once."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from itertools import accumulate

from ludory.envs import ObservationSpec, flat_segments, kernel
from ludory.envs.arena import constants as const
from ludory.envs.arena.geometry import clamp
from ludory.envs.arena.phases.crates import ANY_KIND, NO_CRATE, nearest_crate
from ludory.envs.arena.phases.zone import outside
from ludory.envs.arena.state import WALL
from ludory.envs.arena.variants import ArenaOptions

from .evasive import evasive_spec, observe_evasive
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
# where their segments begin
EGO_SELF, EGO_ZONE, EGO_RIVAL, EGO_CRATE, EGO_THREAT, EGO_RIVALS, _ = accumulate(EGO19.values(), initial=0)
SEED_SELF, SEED_ZONE, SEED_RIVAL, SEED_CRATE, SEED_COUNTS, SEED_DISTANCES, _ = accumulate(SEED19.values(), initial=0)


def observation_spec(options: ArenaOptions) -> ObservationSpec:
    """Shape, bounds and segments of the chosen observation."""
    if options.observation == "full":
        return full_spec(options)
    if options.observation == "tactical":
        return tactical_spec(options)
    if options.observation == "evasive":
        return evasive_spec(options)
    if options.observation == "seed19":
        return ObservationSpec("seed19", (19,), "float32", flat_segments(SEED19), -35.0, 100.0)
    return ObservationSpec("ego19", (19,), "float32", flat_segments(EGO19), -1.0, 1.0)


@kernel
def observe_ego19(state, i, seat, out):
    """Fractions and vectors from the seat's own place, all in [-1, 1]; all 0 for the dead."""
    if int(state.alive[i, seat]) == 0:
        return
    out[EGO_SELF] = int(state.hp[i, seat]) / const.FULL_HP
    out[EGO_SELF + 1] = int(state.energy[i, seat]) / const.FULL_ENERGY
    out[EGO_SELF + 2] = int(state.ammunition[i, seat]) / const.FULL_AMMUNITION
    out[EGO_SELF + 3] = int(state.cooldown[i, seat, const.FIRE]) / const.COOLDOWN[const.FIRE]
    out[EGO_SELF + 4] = status(state, i, seat)
    ego_zone(state, i, seat, out)
    rival = nearest_rival(state, i, seat)
    if rival != NOBODY:
        ego_rival(state, i, seat, rival, out)
    crate = nearest_crate(state, i, seat, const.VISION, ANY_KIND)
    if crate != NO_CRATE:
        out[EGO_CRATE] = (int(state.crate_x[i, crate]) - int(state.x[i, seat])) / const.VISION
        out[EGO_CRATE + 1] = (int(state.crate_y[i, crate]) - int(state.y[i, seat])) / const.VISION
        out[EGO_CRATE + 2] = 1.0 - 2.0 * (crate % 2)  # 1 health, -1 supply
    shot = nearest_threat(state, i, seat)
    if shot != NO_SHOT:
        out[EGO_THREAT] = ego_threat(state, i, seat, shot // const.SHOT_SLOTS, shot % const.SHOT_SLOTS)
    out[EGO_RIVALS] = living_rivals(state, i, seat) / (state.alive.shape[1] - 1)


@kernel
def ego_zone(state, i, seat, out):
    """The segment `zone`."""
    x, y, wall = int(state.zone_x[i]), int(state.zone_y[i]), int(state.setup[i, WALL])
    # a body at the wall may be farther from the zone's centre than the wall is from the origin
    out[EGO_ZONE] = clamp(x - int(state.x[i, seat]), -wall, wall) / wall
    out[EGO_ZONE + 1] = clamp(y - int(state.y[i, seat]), -wall, wall) / wall
    margin = int(state.zone_radius[i]) - math.sqrt(square_distance(state, i, seat, x, y))
    out[EGO_ZONE + 2] = max(-1.0, min(1.0, margin / wall))
    out[EGO_ZONE + 3] = int(state.t[i]) / const.LAST_TICK


@kernel
def ego_rival(state, i, seat, rival, out):
    """The segment `rival`: vector, hit points, status, how fast it moves away."""
    ex = int(state.x[i, rival]) - int(state.x[i, seat])
    ey = int(state.y[i, rival]) - int(state.y[i, seat])
    out[EGO_RIVAL] = ex / const.VISION
    out[EGO_RIVAL + 1] = ey / const.VISION
    out[EGO_RIVAL + 2] = int(state.hp[i, rival]) / const.FULL_HP
    out[EGO_RIVAL + 3] = status(state, i, rival)
    d = math.sqrt(ex * ex + ey * ey)
    if d > 0:
        receding = (ex * int(state.vx[i, rival]) + ey * int(state.vy[i, rival])) / (d * const.WALK)
        out[EGO_RIVAL + 4] = max(-1.0, min(1.0, receding))


@kernel
def ego_threat(state, i, seat, owner, slot):
    """Nearness in time of a shot, positive if it passes with the seat on the side of a positive cross product."""
    gx = int(state.x[i, seat]) - int(state.shot_x[i, owner, slot])
    gy = int(state.y[i, seat]) - int(state.shot_y[i, owner, slot])
    # the sign tells on which side the shot passes
    cross = gx * int(state.shot_vy[i, owner, slot]) - gy * int(state.shot_vx[i, owner, slot])
    near = 1.0 - min(1.0, time_to_pass(state, i, seat, owner, slot) / const.TICKS)
    return near if cross >= 0 else -near


@kernel
def observe_seed19(state, i, seat, out):
    """Raw units in the frame of the arena, in the order of the seed's features; all 0 for the dead."""
    if int(state.alive[i, seat]) == 0:
        return
    out[SEED_SELF] = int(state.x[i, seat]) / const.UNIT_LENGTH
    out[SEED_SELF + 1] = int(state.y[i, seat]) / const.UNIT_LENGTH
    out[SEED_SELF + 2] = int(state.vx[i, seat]) * const.TICKS / const.UNIT_LENGTH  # units per second
    out[SEED_SELF + 3] = int(state.vy[i, seat]) * const.TICKS / const.UNIT_LENGTH
    out[SEED_SELF + 4] = int(state.hp[i, seat]) / 100
    out[SEED_SELF + 5] = int(state.ammunition[i, seat])
    out[SEED_ZONE] = int(state.zone_x[i]) / const.UNIT_LENGTH
    out[SEED_ZONE + 1] = int(state.zone_y[i]) / const.UNIT_LENGTH
    out[SEED_ZONE + 2] = int(state.zone_radius[i]) / const.UNIT_LENGTH
    out[SEED_ZONE + 3] = 0.0 if outside(state, i, seat) else 1.0
    rival = nearest_rival(state, i, seat)
    if rival != NOBODY:
        x, y = int(state.x[i, rival]), int(state.y[i, rival])
        out[SEED_RIVAL] = x / const.UNIT_LENGTH
        out[SEED_RIVAL + 1] = y / const.UNIT_LENGTH
        out[SEED_RIVAL + 2] = int(state.hp[i, rival]) / 100
        out[SEED_DISTANCES] = math.sqrt(square_distance(state, i, seat, x, y)) / const.UNIT_LENGTH
    crate = nearest_crate(state, i, seat, const.VISION, ANY_KIND)
    if crate != NO_CRATE:
        x, y = int(state.crate_x[i, crate]), int(state.crate_y[i, crate])
        out[SEED_CRATE] = x / const.UNIT_LENGTH
        out[SEED_CRATE + 1] = y / const.UNIT_LENGTH
        out[SEED_DISTANCES + 1] = math.sqrt(square_distance(state, i, seat, x, y)) / const.UNIT_LENGTH
    seed_counts(state, i, seat, out)


@kernel
def seed_counts(state, i, seat, out):
    """The segment `counts`: how many rivals and crates are in sight."""
    for rival in range(state.alive.shape[1]):
        if rival != seat and sees_rival(state, i, seat, rival, const.VISION):
            out[SEED_COUNTS] += 1
    for crate in range(state.crate_wait.shape[1]):
        x, y = int(state.crate_x[i, crate]), int(state.crate_y[i, crate])
        if (
            int(state.crate_wait[i, crate]) == 0
            and square_distance(state, i, seat, x, y) <= const.VISION * const.VISION
        ):
            out[SEED_COUNTS + 1] += 1


OBSERVE = {
    "ego19": observe_ego19,
    "seed19": observe_seed19,
    "full": observe_full,
    "tactical": observe_tactical,
    "evasive": observe_evasive,
}
"""Kernel of each observation by name."""
