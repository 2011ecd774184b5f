"""Phase 6 of a tick: time goes on, the zone closes and burns who is outside."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena.constants import ZONE_DAMAGE, ZONE_DAMAGE_GROWTH, ZONE_SHRINK, ZONE_STILL
from ludory.envs.arena.geometry import clamp, scale
from ludory.envs.arena.state import WALL

from .weapons import hurt


@kernel
def shrunk(state, i):
    """How far the zone has closed, 0 to ZONE_SHRINK."""
    return clamp(int(state.t[i]) - ZONE_STILL, 0, ZONE_SHRINK)


@kernel
def zone_damage(state, i):
    """What a tick outside costs, in 1/100 hit point."""
    return ZONE_DAMAGE + ZONE_DAMAGE_GROWTH * shrunk(state, i) // ZONE_SHRINK


@kernel
def set_zone(state, i):
    """Put the zone where it stands at this time."""
    f = shrunk(state, i)
    # from the origin to the final centre in a straight line, in integers
    state.zone_x[i] = scale(int(state.final_x[i]), f, ZONE_SHRINK)
    state.zone_y[i] = scale(int(state.final_y[i]), f, ZONE_SHRINK)
    state.zone_radius[i] = int(state.setup[i, WALL]) * (ZONE_SHRINK - f) // ZONE_SHRINK


@kernel
def outside(state, i, seat):
    """Whether a body is farther from the zone's centre than its radius."""
    dx, dy = int(state.x[i, seat]) - int(state.zone_x[i]), int(state.y[i, seat]) - int(state.zone_y[i])
    return dx * dx + dy * dy > int(state.zone_radius[i]) * int(state.zone_radius[i])


@kernel
def close_zone(state, i):
    """One tick of the zone; before it begins to close nobody can be outside, for it is as wide as the wall."""
    state.t[i] += 1
    if int(state.t[i]) > ZONE_STILL:
        set_zone(state, i)
        for seat in range(state.alive.shape[1]):
            if int(state.alive[i, seat]) and outside(state, i, seat):
                hurt(state, i, seat, zone_damage(state, i))
