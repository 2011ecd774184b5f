"""What the styles read of the game, all of it in the observation `full` of their seat; and directions as bins of the heads."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.arena.constants import REACH, UNIT_LENGTH, VISION
from ludory.envs.arena.geometry import aim_bins_towards, isqrt, move_bins_towards, on_target
from ludory.envs.arena.legality import can_fire, can_interact, can_use, is_free
from ludory.envs.arena.phases.crates import nearest_crate
from ludory.envs.arena.state import AIM_BINS, AIM_X, AIM_Y, MOVE_BINS, MOVE_X, MOVE_Y


@kernel
def ability_ready(state, i, seat, ability):
    """Whether an ability is legal."""
    return is_free(state, i, seat) and can_use(state, i, seat, ability)


@kernel
def shot_ready(state, i, seat):
    """Whether firing is legal."""
    return is_free(state, i, seat) and can_fire(state, i, seat)


@kernel
def crate_ready(state, i, seat):
    """Whether interacting is legal."""
    return is_free(state, i, seat) and can_interact(state, i, seat)


@kernel
def visible_crate(state, i, seat, kind):
    """The nearest visible open crate of a kind, or NO_CRATE."""
    return nearest_crate(state, i, seat, VISION, kind)


@kernel
def in_reach(state, i, seat, crate):
    """Whether a crate is near enough to be used."""
    dx = int(state.crate_x[i, crate]) - int(state.x[i, seat])
    dy = int(state.crate_y[i, crate]) - int(state.y[i, seat])
    return dx * dx + dy * dy <= REACH * REACH


@kernel
def beyond(state, i, seat, margin):
    """Whether a seat is farther from the zone's centre than its radius less `margin` sub."""
    dx, dy = int(state.zone_x[i]) - int(state.x[i, seat]), int(state.zone_y[i]) - int(state.y[i, seat])
    edge = int(state.zone_radius[i]) - margin
    # nothing lies inside of a zone that is smaller than the margin
    return edge < 0 or dx * dx + dy * dy > edge * edge


@kernel
def near_edge(state, i, seat):
    """Whether a seat is outside the zone or within a unit of its edge."""
    return beyond(state, i, seat, UNIT_LENGTH)


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
    k = move_bins_towards(bins, gx, gy)
    action[MOVE_X] = k // bins
    action[MOVE_Y] = k % bins


@kernel
def aim_at(state, i, action, px, py):
    """Aim as nearly at p, a vector from the own place, as the bins allow; tells whether a shot would pass within a body's radius."""
    bins = int(state.setup[i, AIM_BINS])
    k = aim_bins_towards(bins, px, py)
    action[AIM_X] = k // bins
    action[AIM_Y] = k % bins
    return on_target(bins, k, px, py)


@kernel
def length(x, y):
    """Length of a vector, rounded down."""
    return isqrt(x * x + y * y)
