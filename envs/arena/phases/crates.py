"""Crates: who can reach one, what it pays, when and where it comes back."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena import constants as const
from ludory.envs.arena.geometry import draw_in_disc

ANY_KIND, NO_CRATE = -1, -1


@kernel
def nearest_crate(state, i, seat, reach, kind):
    """The nearest open crate of a kind within `reach` of a seat, lowest index on ties; or NO_CRATE."""
    x, y = int(state.x[i, seat]), int(state.y[i, seat])
    # as in `nearest_rival`: the edge counts, the lowest index wins ties
    best, found = reach * reach + 1, NO_CRATE
    for crate in range(const.CRATES):
        if int(state.crate_wait[i, crate]) == 0 and (kind == ANY_KIND or crate % 2 == kind):
            dx, dy = int(state.crate_x[i, crate]) - x, int(state.crate_y[i, crate]) - y
            if dx * dx + dy * dy < best:
                best, found = dx * dx + dy * dy, crate
    return found


@kernel
def crate_in_reach(state, i, seat):
    """Whether an open crate is near enough to be used."""
    return nearest_crate(state, i, seat, const.REACH, ANY_KIND) != NO_CRATE


@kernel
def channel(state, i, seat):
    """One tick of a body, alive, free and unshielded or not, that interacts: at its last one the nearest crate pays out."""
    crate = nearest_crate(state, i, seat, const.REACH, ANY_KIND)
    held = int(state.stun[i, seat]) + int(state.windup[i, seat]) + int(state.dash[i, seat]) + int(state.shield[i, seat])
    if crate == NO_CRATE or held > 0:
        state.channel[i, seat] = 0
    elif int(state.channel[i, seat]) + 1 < const.CHANNEL_TIME:
        state.channel[i, seat] += 1
    else:
        state.channel[i, seat] = 0
        # it goes at the end of the tick, so that all who finish in this tick are paid
        state.crate_used[i, crate] = 1
        pay(state, i, seat, crate)


@kernel
def pay(state, i, seat, crate):
    """Give what the crate holds."""
    if crate % 2 == const.HEALTH:
        state.hp[i, seat] = min(const.FULL_HP, int(state.hp[i, seat]) + const.CRATE_HP)
    else:
        state.ammunition[i, seat] = min(const.FULL_AMMUNITION, int(state.ammunition[i, seat]) + const.CRATE_AMMUNITION)
        state.energy[i, seat] = min(const.FULL_ENERGY, int(state.energy[i, seat]) + const.CRATE_ENERGY)


@kernel
def count_absences(state, i):
    """Used crates go; absent ones come nearer to their return, somewhere in the zone."""
    for crate in range(const.CRATES):
        if int(state.crate_used[i, crate]):
            state.crate_used[i, crate] = 0
            state.crate_wait[i, crate] = const.CRATE_ABSENCE
        elif int(state.crate_wait[i, crate]) > 0:
            state.crate_wait[i, crate] -= 1
            if int(state.crate_wait[i, crate]) == 0:
                put_back(state, i, crate)


@kernel
def put_back(state, i, crate):
    """Place a crate uniformly in the disc that is nine tenths as wide as the zone."""
    radius = 9 * max(const.SMALLEST_CRATE_DISC, int(state.zone_radius[i])) // 10
    x, y = draw_in_disc(state, i, radius)
    state.crate_x[i, crate] = int(state.zone_x[i]) + x
    state.crate_y[i, crate] = int(state.zone_y[i]) + y
