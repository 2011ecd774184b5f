"""What the styles ask of the game: all of it is in the observation `full` of their seat."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.constants import REACH, UNIT_LENGTH, VISION
from ludory.envs.arena.legality import can_fire, can_interact, can_use, is_free
from ludory.envs.arena.phases.crates import nearest_crate
from ludory.envs.kernels import kernel


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
    return edge < 0 or dx * dx + dy * dy > edge * edge


@kernel
def near_edge(state, i, seat):
    """Whether a seat is outside the zone or within a unit of its edge."""
    return beyond(state, i, seat, UNIT_LENGTH)
