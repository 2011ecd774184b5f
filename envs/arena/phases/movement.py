"""Phase 2 of a tick: bodies move."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs.arena.constants import WALK, WALK_SHIELDED, WALK_WINDING
from ludory.envs.arena.geometry import pair, put, q14
from ludory.envs.arena.state import INTERACT, MOVE_BINS, MOVE_X, MOVE_Y
from ludory.envs.arena.tables import MOVE
from ludory.envs.kernels import kernel


@kernel
def move(state, i, seat, action):
    """Dash on, stand still, or walk along the pair of move bins; then the wall.

    The velocity that observations show is what the body really moved here: less than it tried where the wall put it back, 0 where
    it stood. Pushes of novas come later in the tick and are no part of it.
    """
    x, y, dx, dy = int(state.x[i, seat]), int(state.y[i, seat]), 0, 0
    if int(state.dash[i, seat]) > 0:
        dx, dy = int(state.dash_x[i, seat]), int(state.dash_y[i, seat])
    elif int(state.stun[i, seat]) == 0 and int(action[INTERACT]) == 0:
        speed = walking_speed(state, i, seat)
        k = pair(int(state.setup[i, MOVE_BINS]), int(action[MOVE_X]), int(action[MOVE_Y]))
        dx, dy = q14(int(MOVE[k, 0]), speed), q14(int(MOVE[k, 1]), speed)
    put(state, i, seat, x + dx, y + dy)
    state.vx[i, seat] = int(state.x[i, seat]) - x
    state.vy[i, seat] = int(state.y[i, seat]) - y


@kernel
def walking_speed(state, i, seat):
    """How many sub per tick at full tilt."""
    if int(state.shield[i, seat]) > 0:
        return WALK_SHIELDED
    return WALK_WINDING if int(state.windup[i, seat]) > 0 else WALK
