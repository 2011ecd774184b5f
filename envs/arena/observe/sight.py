"""What a seat can see: rivals, crates and shots within its range of sight."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena.constants import REACH, SHOT_SLOTS, VISION

NOBODY, NO_SHOT = -1, -1
UNLIMITED = 1 << 20
"""A range of sight wider than the arena."""


@kernel
def square_distance(state, i, seat, x, y):
    """Square of the distance from a seat to a point."""
    # squares of distances in integers: no root, and no rounding at the edge of sight
    dx, dy = x - int(state.x[i, seat]), y - int(state.y[i, seat])
    return dx * dx + dy * dy


@kernel
def sees(state, i, seat, x, y, vision):
    """Whether a point lies within sight."""
    return square_distance(state, i, seat, x, y) <= vision * vision


@kernel
def sees_rival(state, i, seat, rival, vision):
    """Whether a rival lives and is within sight."""
    return int(state.alive[i, rival]) == 1 and sees(
        state, i, seat, int(state.x[i, rival]), int(state.y[i, rival]), vision
    )


@kernel
def nearest_rival(state, i, seat):
    """The nearest visible living rival, lowest seat on ties; or NOBODY."""
    # one more than the farthest that is seen, so that the edge counts as seen and the lowest seat wins ties
    found, best = NOBODY, VISION * VISION + 1
    for rival in range(state.alive.shape[1]):
        if rival != seat and int(state.alive[i, rival]):
            square = square_distance(state, i, seat, int(state.x[i, rival]), int(state.y[i, rival]))
            if square < best:
                found, best = rival, square
    return found


@kernel
def living_rivals(state, i, seat):
    """How many rivals live."""
    living = 0
    for rival in range(state.alive.shape[1]):
        living += int(rival != seat and int(state.alive[i, rival]) == 1)
    return living


@kernel
def status(state, i, seat):
    """What others see a body do: 1 shield up, -1 stunned, 0.5 winding up, else 0."""
    if int(state.shield[i, seat]) > 0:
        return 1.0
    if int(state.stun[i, seat]) > 0:
        return -1.0
    return 0.5 if int(state.windup[i, seat]) > 0 else 0.0


@kernel
def time_to_pass(state, i, seat, owner, slot):
    """Ticks until a shot is closest to a seat, negative if it was; as a float64 of exact integers."""
    gx = int(state.x[i, seat]) - int(state.shot_x[i, owner, slot])
    gy = int(state.y[i, seat]) - int(state.shot_y[i, owner, slot])
    vx, vy = int(state.shot_vx[i, owner, slot]), int(state.shot_vy[i, owner, slot])
    # the projection of the way to the seat on a step, in steps; a shot moves one step per tick
    return (gx * vx + gy * vy) / (vx * vx + vy * vy)


@kernel
def threatens(state, i, seat, owner, slot):
    """Whether a shot comes closest to a seat later than now, before it expires, and within 1.5 units."""
    gx = int(state.x[i, seat]) - int(state.shot_x[i, owner, slot])
    gy = int(state.y[i, seat]) - int(state.shot_y[i, owner, slot])
    vx, vy = int(state.shot_vx[i, owner, slot]), int(state.shot_vy[i, owner, slot])
    along, across, square = gx * vx + gy * vy, gx * vy - gy * vx, vx * vx + vy * vy
    in_time = along > 0 and along <= int(state.shot_life[i, owner, slot]) * square
    # distance to the line of flight, both sides times the length of a step: no root
    return in_time and across * across <= REACH * REACH * square


@kernel
def nearest_threat(state, i, seat):
    """Of the visible rivals' shots that threaten a seat, the first to pass, as owner * SHOT_SLOTS + slot; or NO_SHOT."""
    found, soonest = NO_SHOT, 0.0
    for owner in range(state.alive.shape[1]):
        for slot in range(SHOT_SLOTS):
            if owner != seat and int(state.shot_life[i, owner, slot]) > 0:
                x, y = int(state.shot_x[i, owner, slot]), int(state.shot_y[i, owner, slot])
                if sees(state, i, seat, x, y, VISION) and threatens(state, i, seat, owner, slot):
                    time = time_to_pass(state, i, seat, owner, slot)
                    if found == NO_SHOT or time < soonest:
                        found, soonest = owner * SHOT_SLOTS + slot, time
    return found
